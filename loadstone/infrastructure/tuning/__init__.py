"""Host tuning that is undone: knobs of the kernel, set for a study and set back whatever ends it.

The journal lies on the host (``/var/lib/loadstone/tuning.json``): after a kill, `loadstone restore` or the next run
finds what was there before. After a restart of the machine the kernel has set all values back by itself.
"""

from loadstone.infrastructure.tuning.base import Host
from loadstone.infrastructure.tuning.disturbing import disturbances
from loadstone.infrastructure.tuning.probing import inventory, preflight
from loadstone.infrastructure.tuning.setting import Change, Restored, apply, restore, undo

__all__ = ["Change", "Host", "Restored", "apply", "disturbances", "inventory", "preflight", "restore", "undo"]
