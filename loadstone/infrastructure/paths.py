"""Where Loadstone keeps what is too big for the journal's folder."""

from __future__ import annotations

import os
from pathlib import Path

from loadstone.infrastructure import identity


def data_root() -> Path:
    """Where data folders and what they are copied from lie: on a disk, and open to the stores' users.

    ``$LOADSTONE_DATA``, else ``/var/lib/loadstone`` as root (a home folder is closed to other users), else
    ``$XDG_CACHE_HOME/loadstone/<machine>`` or ``~/.cache/loadstone/<machine>``: machines may share a home folder, and a
    node looks in this one for what it started.
    """
    if given := os.environ.get("LOADSTONE_DATA"):
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/lib/loadstone")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loadstone" / identity.machine_id()
