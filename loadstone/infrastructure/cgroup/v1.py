"""Control groups, version 1: a hierarchy per controller (Documentation/admin-guide/cgroup-v1 of Linux)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from loadstone.infrastructure.cgroup.base import (
    NO_MEMORY_LIMIT,
    PERIOD_US,
    CgroupError,
    Cgroups,
    Limits,
    Usage,
    find_container,
    make_folders,
    read,
    read_cores,
    read_flat,
    tightest,
    upwards,
    write,
    write_cores,
)
from loadstone.infrastructure.cgroup.mounts import Mount, groups_of

_WANTED = ("cpu", "cpuacct", "memory", "cpuset")


class V1(Cgroups):
    """Groups of the same path in the cpu, cpuacct, memory, cpuset and (where mounted) pids hierarchies."""

    version = 1

    def __init__(self, mounts: list[Mount], proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._points = [mount.point for mount in mounts]
        self._mounts = {
            name: mount
            for name in (*_WANTED, "pids")
            for mount in mounts
            if mount.controllers is not None and name in mount.controllers
        }

    def problem(self) -> str | None:
        missing = [name for name in _WANTED if name not in self._mounts]
        if missing:
            return f"no control groups for {', '.join(missing)} are mounted"
        for mount in self._mounts.values():
            if not os.access(mount.point, os.W_OK):
                return f"no permission to make control groups below {mount.point}; run as root"
        return None

    def folders(self, group: str) -> list[Path]:
        # Several controllers may share one hierarchy (cpu and cpuacct do on most distributions).
        return list(dict.fromkeys(mount.point / group for mount in self._mounts.values()))

    def everywhere(self, group: str) -> list[Path]:
        return list(dict.fromkeys(point / group for point in self._points))

    def make(self, group: str, limits: Limits) -> None:
        for folder in self.folders(group):
            make_folders(folder)
        self._open_cpuset(self._folder("cpuset", group), limits.cores)
        quota = -1 if limits.cpu is None else round(limits.cpu * PERIOD_US)
        write(self._folder("cpu", group) / "cpu.cfs_period_us", str(PERIOD_US))
        try:
            write(self._folder("cpu", group) / "cpu.cfs_quota_us", str(quota))
        except CgroupError as error:  # version 1 refuses what version 2 would only not grant
            raise CgroupError(f"{error}; does a group above it have a smaller quota?") from None
        self._limit_memory(self._folder("memory", group), limits.memory)

    def _open_cpuset(self, folder: Path, cores: tuple[int, ...] | None) -> None:
        """A cpuset starts empty, and an empty one takes no process: fill those above from their parents first."""
        parent = folder.parent
        if folder == self._mounts["cpuset"].point:
            return
        if not read(parent / "cpuset.cpus") or not read(parent / "cpuset.mems"):
            self._open_cpuset(parent, None)
        write(folder / "cpuset.mems", read(parent / "cpuset.mems"))
        if cores is not None:
            write_cores(folder / "cpuset.cpus", cores)
        else:
            write(folder / "cpuset.cpus", read(parent / "cpuset.cpus"))

    def _limit_memory(self, folder: Path, limit: int | None) -> None:
        value = str(-1 if limit is None else limit)
        files = [folder / "memory.limit_in_bytes"]
        if (folder / "memory.memsw.limit_in_bytes").exists():  # memory and swap together: never below memory
            files.append(folder / "memory.memsw.limit_in_bytes")
        current = self._memory(folder)
        if limit is None or (current is not None and limit > current):
            files.reverse()
        for file in files:
            write(file, value)

    def effective(self, pid: int) -> Limits:
        try:
            groups = groups_of(self._proc, pid)
        except OSError as error:
            raise CgroupError(f"process {pid}: {error.strerror}") from None

        def chain(controller: str) -> Iterator[Path]:
            if (mount := self._mounts.get(controller)) is None:
                return iter(())
            path = next((path for names, path in groups.items() if names and controller in names), "/")
            return upwards(mount.folder(path), mount.point)

        memory = tightest(self._memory(folder) for folder in chain("memory"))
        cpuset = next(chain("cpuset"), None)
        return Limits(
            cpu=tightest(self._cpu(folder) for folder in chain("cpu")),
            memory=None if memory is None else int(memory),
            cores=read_cores(cpuset / "cpuset.effective_cpus") if cpuset else None,
        )

    def holds(self, group: str, pid: int) -> bool:
        try:
            groups = groups_of(self._proc, pid)
        except OSError:
            return False
        places = {name: path for names, path in groups.items() for name in names or ()}
        return all(
            mount.folder(places.get(name, "/")).is_relative_to(mount.point / group)
            for name, mount in self._mounts.items()
            if name in ("cpu", "memory")  # Nomad moves what it starts to cpusets of its own
        )

    @staticmethod
    def _cpu(folder: Path) -> float | None:
        file = folder / "cpu.cfs_quota_us"
        if not file.exists():  # the root of some kernels
            return None
        quota = int(read(file))
        return quota / int(read(folder / "cpu.cfs_period_us")) if quota > 0 else None

    @staticmethod
    def _memory(folder: Path) -> int | None:
        limit = int(read(folder / "memory.limit_in_bytes"))
        return limit if limit < NO_MEMORY_LIMIT else None

    def usage(self, group: str) -> Usage:
        cpu = read_flat(self._folder("cpu", group) / "cpu.stat")
        memory = self._folder("memory", group)
        return Usage(
            cpu_s=int(read(self._folder("cpuacct", group) / "cpuacct.usage")) / 1e9,
            periods=cpu["nr_periods"],
            throttled_periods=cpu["nr_throttled"],
            throttled_s=cpu["throttled_time"] / 1e9,
            memory=int(read(memory / "memory.usage_in_bytes")),
            memory_peak=int(read(memory / "memory.max_usage_in_bytes")),
            oom_kills=read_flat(memory / "memory.oom_control").get("oom_kill"),
            pids=len(self.processes(group)),
        )

    def reset_peak(self, group: str) -> bool:
        with contextlib.suppress(CgroupError):
            write(self._folder("memory", group) / "memory.max_usage_in_bytes", "0")
            return True
        return False

    def container(self, identity: str) -> str | None:
        memory = self._mounts.get("memory")
        return None if memory is None else find_container(memory.point, identity)

    def _folder(self, controller: str, group: str) -> Path:
        return self._mounts[controller].point / group
