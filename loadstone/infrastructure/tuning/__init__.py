"""Host tuning, as the desk decides and explains it. ``stone node`` on each machine probes, sets, verifies and restores.

Every machine has its own journal (``/var/lib/loadstone/tuning.json``), so that its knobs are set back also after the
desk was killed: by its node when the channel ends, else by `loadstone restore` or the next run.
"""

from loadstone.infrastructure.tuning.disturbing import disturbances
from loadstone.infrastructure.tuning.machine import Tunable, distinct, failure, knob_values, on_each, reached
from loadstone.infrastructure.tuning.probing import inventory, preflight

__all__ = [
    "Tunable",
    "distinct",
    "disturbances",
    "failure",
    "inventory",
    "knob_values",
    "on_each",
    "preflight",
    "reached",
]
