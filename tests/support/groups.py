"""Control groups of this kernel as tests look into and break them, in both versions: folders, one a hierarchy."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_PERIOD_US = 100_000
_ROOT = Path("/sys/fs/cgroup")


def folders(group: str) -> list[Path]:
    """The folders of a group, by its path below each hierarchy; those that are there."""
    return [point / group for point in _hierarchies() if (point / group).is_dir()]


def matching(pattern: str) -> list[Path]:
    """The folders whose path ends as ``Path.match`` says. Unlike with a glob, others may vanish meanwhile."""
    found = (Path(at, name) for point in _hierarchies() for at, names, _ in os.walk(point) for name in names)
    return [folder for folder in found if folder.match(pattern)]


def of_container(identity: str) -> list[Path]:
    """The folders of the container of that id, wherever its engine put it."""
    return matching(f"*{identity}*")


def limit(places: list[Path], cpu: float | None = None, memory: int | None = None) -> None:
    """Limit a group to cores' worth of time and to bytes; what is not given stays as it is."""
    if cpu is not None:
        _write(places, "cpu.cfs_quota_us", str(round(cpu * _PERIOD_US)))
        _write(places, "cpu.max", f"{round(cpu * _PERIOD_US)} {_PERIOD_US}")
    if memory is not None:
        _write(places, "memory.limit_in_bytes", str(memory))
        _write(places, "memory.max", str(memory))


def lift(places: list[Path], what: str) -> None:
    """Lift one limit of a group: ``cpu`` or ``memory``."""
    files = {"cpu": ["cpu.cfs_quota_us"], "memory": ["memory.memsw.limit_in_bytes", "memory.limit_in_bytes"]}
    for name in files[what]:
        _write(places, name, "-1")
    _write(places, f"{what}.max", "max")


def processes(places: list[Path]) -> set[int]:
    """The ids of all processes in a group and below it."""
    found: set[int] = set()
    for folder in (Path(at) for place in places for at, _, _ in os.walk(place)):
        with contextlib.suppress(OSError):  # removed meanwhile
            found.update(map(int, (folder / "cgroup.procs").read_text().split()))
    return found


def kill(places: list[Path]) -> None:
    """SIGKILL to all processes of a group."""
    for pid in processes(places):
        with contextlib.suppress(ProcessLookupError):  # a health check that has just ended
            os.kill(pid, signal.SIGKILL)


def remove(group: str) -> None:
    """Kill what is in a group and remove it."""
    deadline = time.monotonic() + 120
    while left := folders(group):
        kill(left)
        for folder in (Path(at) for place in left for at, _, _ in os.walk(place, topdown=False)):
            with contextlib.suppress(OSError):  # the kernel lets go of killed processes a little later
                folder.rmdir()
        assert time.monotonic() < deadline, left


def join_root(pid: int) -> None:
    """Move a process out of its groups."""
    for point in _hierarchies():
        with contextlib.suppress(OSError):
            (point / "cgroup.procs").write_text(str(pid))


def _write(places: list[Path], name: str, value: str) -> None:
    for place in places:
        if (place / name).exists():
            (place / name).write_text(value)


def _hierarchies() -> Iterator[Path]:
    if (_ROOT / "cgroup.procs").exists():
        yield _ROOT
    else:
        yield from (point for point in _ROOT.iterdir() if point.is_dir() and not point.is_symlink())
