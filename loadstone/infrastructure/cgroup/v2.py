"""Control groups, version 2: one hierarchy for all controllers (Documentation/admin-guide/cgroup-v2.rst of Linux)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from loadstone.infrastructure.cgroup.base import (
    NO_MEMORY_LIMIT,
    PERIOD_US,
    CgroupError,
    Cgroups,
    Limits,
    Usage,
    find_container,
    read,
    read_cores,
    read_flat,
    tightest,
    upwards,
    write,
    write_cores,
)
from loadstone.infrastructure.cgroup.mounts import Mount, groups_of

_WANTED = ("cpu", "memory", "cpuset", "pids")


class V2(Cgroups):
    """Groups of the unified hierarchy; each group above a replica's hands its controllers down."""

    version = 2

    def __init__(self, mount: Mount, proc: Path = Path("/proc")) -> None:
        self._mount = mount
        self._proc = proc

    def problem(self) -> str | None:
        root = self._mount.point
        if not os.access(root, os.W_OK):
            return f"no permission to make control groups below {root}; run as root"
        missing = sorted(set(_WANTED) - set(read(root / "cgroup.controllers").split()))
        if missing:
            return f"the controllers {', '.join(missing)} are not available in {root}"
        # Only the true root may hold processes and hand controllers down at once ("no internal processes");
        # it has no cgroup.type. Inside a container the visible root is an ordinary group.
        handed_down = set(read(root / "cgroup.subtree_control").split())
        inner = (root / "cgroup.type").exists()
        if inner and not set(_WANTED) <= handed_down and read(root / "cgroup.procs"):
            return f"{root} holds processes itself, so it cannot hand controllers down (are we in a container?)"
        return None

    def folders(self, group: str) -> list[Path]:
        return [self._mount.point / group]

    def make(self, group: str, limits: Limits) -> None:
        folder = self._mount.point / group
        for above in reversed(list(upwards(folder.parent, self._mount.point))):
            self._make_folder(above)
            write(above / "cgroup.subtree_control", " ".join(f"+{name}" for name in _WANTED))
        self._make_folder(folder)
        quota = "max" if limits.cpu is None else str(round(limits.cpu * PERIOD_US))
        write(folder / "cpu.max", f"{quota} {PERIOD_US}")
        write(folder / "memory.max", "max" if limits.memory is None else str(limits.memory))
        if (folder / "memory.swap.max").exists():  # otherwise a limit on memory would only move it to the disk
            write(folder / "memory.swap.max", "max" if limits.memory is None else "0")
        if limits.cores is not None:
            write_cores(folder / "cpuset.cpus", limits.cores)

    @staticmethod
    def _make_folder(folder: Path) -> None:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise CgroupError(f"cannot make {folder}: {error.strerror}") from None

    def effective(self, pid: int) -> Limits:
        try:
            path = groups_of(self._proc, pid)[None]
        except OSError as error:
            raise CgroupError(f"process {pid}: {error.strerror}") from None
        chain = list(upwards(self._mount.folder(path), self._mount.point))
        memory = tightest(self._memory(folder) for folder in chain)
        with_cores = (folder / "cpuset.cpus.effective" for folder in chain)
        cores = next((file for file in with_cores if file.exists()), None)
        return Limits(
            cpu=tightest(self._cpu(folder) for folder in chain),
            memory=None if memory is None else int(memory),
            cores=read_cores(cores) if cores else None,
        )

    def holds(self, group: str, pid: int) -> bool:
        try:
            path = groups_of(self._proc, pid)[None]
        except OSError:
            return False
        return self._mount.folder(path).is_relative_to(self._mount.point / group)

    @staticmethod
    def _cpu(folder: Path) -> float | None:
        file = folder / "cpu.max"
        if not file.exists():  # the root has none, nor has a group that is handed no CPU controller
            return None
        quota, period = read(file).split()
        return None if quota == "max" else int(quota) / int(period)

    @staticmethod
    def _memory(folder: Path) -> int | None:
        file = folder / "memory.max"
        limit = read(file) if file.exists() else "max"
        return None if limit == "max" or int(limit) >= NO_MEMORY_LIMIT else int(limit)

    def usage(self, group: str) -> Usage:
        folder = self._mount.point / group
        cpu = read_flat(folder / "cpu.stat")
        peak = folder / "memory.peak"  # since Linux 5.19
        return Usage(
            cpu_s=cpu["usage_usec"] / 1e6,
            periods=cpu.get("nr_periods"),  # none where no CPU controller is handed down
            throttled_periods=cpu.get("nr_throttled"),
            throttled_s=cpu["throttled_usec"] / 1e6 if "throttled_usec" in cpu else None,
            memory=int(read(folder / "memory.current")),
            memory_peak=int(read(peak)) if peak.exists() else None,
            oom_kills=read_flat(folder / "memory.events").get("oom_kill"),
            pids=len(self.processes(group)),
        )

    def reset_peak(self, group: str) -> bool:
        # Linux 6.12 resets only for who keeps the file open, which a later process could not read.
        return False

    def container(self, identity: str) -> str | None:
        return find_container(self._mount.point, identity)

    def kill(self, group: str) -> None:
        with contextlib.suppress(CgroupError):  # since Linux 5.14; without it, one by one
            if (file := self._mount.point / group / "cgroup.kill").exists():
                write(file, "1")
        super().kill(group)
