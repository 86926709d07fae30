"""Where the kernel's control group hierarchies are mounted, and where a process is in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_NOT_CONTROLLERS = {"rw", "ro", "xattr", "noprefix", "clone_children", "release_agent"}


@dataclass(frozen=True)
class Mount:
    """One hierarchy: mounted at ``point``, showing what lies below ``root``.

    ``controllers`` are those of a v1 hierarchy; None is the unified one of v2.
    """

    point: Path
    root: PurePosixPath
    controllers: frozenset[str] | None

    def folder(self, path: str) -> Path:
        """The folder of a group that ``/proc/<pid>/cgroup`` names ``path``."""
        try:
            return self.point / PurePosixPath(path).relative_to(self.root)
        except ValueError:  # outside of what is mounted here: all that is visible of it is the root
            return self.point


def read_mounts(proc: Path) -> list[Mount]:
    """The hierarchies in ``/proc/self/mountinfo`` (proc(5)); a hierarchy mounted twice is given once."""
    mounts: dict[frozenset[str] | None, Mount] = {}
    for line in (proc / "self" / "mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _source, options = after.split(" ", 2)
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, point = before.split(" ")[3:5]
        controllers = None if kind == "cgroup2" else frozenset(options.split(",")) - _NOT_CONTROLLERS
        mounts.setdefault(controllers, Mount(Path(point), PurePosixPath(root), controllers))
    return list(mounts.values())


def groups_of(proc: Path, pid: int) -> dict[frozenset[str] | None, str]:
    """The group of a process in each hierarchy, by the hierarchy's controllers; None is the unified one."""
    groups: dict[frozenset[str] | None, str] = {}
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        groups[None if number == "0" else frozenset(controllers.split(","))] = path
    return groups
