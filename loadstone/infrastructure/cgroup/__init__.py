"""Control groups: the limits of a replica, what is really in force, and what it used.

``find`` returns the one class for this machine's kernel: ``v1`` (a hierarchy per controller) or ``v2`` (one for
all). Groups are named by a path such as ``loadstone/<deployment>/<replica>``, below the mounted hierarchy's root.
"""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.cgroup.base import CgroupError, Cgroups, Limits, Usage, make_folders
from loadstone.infrastructure.cgroup.mounts import Mount, read_mounts
from loadstone.infrastructure.cgroup.v1 import V1
from loadstone.infrastructure.cgroup.v2 import V2

__all__ = ["CgroupError", "Cgroups", "Limits", "Mount", "Usage", "find", "make_folders"]


def find(proc: Path = Path("/proc")) -> Cgroups:
    """The control groups of this machine; ``problem()`` of what is returned says whether they can be used."""
    mounts = read_mounts(proc)
    unified = [mount for mount in mounts if mount.controllers is None]
    # A hybrid machine mounts both: the unified hierarchy counts only if it holds the controllers.
    if unified and "cpu" in (unified[0].point / "cgroup.controllers").read_text().split():
        return V2(unified[0], proc)
    return V1(mounts, proc)
