"""What both kernel interfaces to control groups offer."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.cores import format_cores, parse_cores

PERIOD_US = 100_000
"""The period of CPU quotas: the kernel's default, and what every orchestrator uses."""

NO_MEMORY_LIMIT = 2**62
"""From so many bytes on a limit is none: version 1 writes 'no limit' as the largest whole number of pages, and who
cannot leave a limit out gives the largest that he can."""

_GONE_WITHIN_S = 10.0
_TRIES = 100


class CgroupError(Exception):
    """The kernel refused something about a control group."""


@dataclass(frozen=True)
class Limits:
    """Limits of a group, wanted or in force: cores' worth of CPU time, bytes, the cores themselves. None: no limit."""

    cpu: float | None = None
    memory: int | None = None
    cores: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Usage:
    """Counters of one replica, since it was started unless said otherwise. None: this machine does not count it."""

    cpu_s: float
    periods: int | None
    throttled_periods: int | None
    throttled_s: float | None
    memory: int
    memory_peak: int | None
    """Bytes, since it was last reset; the page cache counts where a control group does the counting."""
    oom_kills: int | None
    pids: int


class Cgroups(ABC):
    """Control groups of one kernel interface. A group is named by its path below the hierarchy's root."""

    version: int

    @abstractmethod
    def problem(self) -> str | None:
        """Why limits cannot be applied on this machine or by this user; None if they can."""

    @abstractmethod
    def folders(self, group: str) -> list[Path]:
        """The folders of a group, one a hierarchy."""

    def everywhere(self, group: str) -> list[Path]:
        """The folders that a group may have, those in hierarchies without limits too: container engines make them."""
        return self.folders(group)

    @abstractmethod
    def make(self, group: str, limits: Limits) -> None:
        """Make a group, and those above it without limits, and limit it. Making one again only limits it anew."""

    @abstractmethod
    def effective(self, pid: int) -> Limits:
        """What is in force for a process: the tightest limit from its own group up to the root."""

    @abstractmethod
    def holds(self, group: str, pid: int) -> bool:
        """Whether a process says itself that it is in a group or below it, wherever there are limits. In version 1 one
        that is about to end is in the root, though its group still lists it; one that starts joins step by step."""

    @abstractmethod
    def usage(self, group: str) -> Usage:
        """What a group has used; raises CgroupError if there is no such group."""

    @abstractmethod
    def reset_peak(self, group: str) -> bool:
        """Begin a new memory peak; False where this kernel cannot."""

    @abstractmethod
    def container(self, identity: str) -> str | None:
        """The group of a container, by its full id, wherever its engine put it; None if it is not on this kernel."""

    def joining(self, group: str) -> list[Path]:
        """The files that a process writes its id to in order to join."""
        return [folder / "cgroup.procs" for folder in self.folders(group)]

    def exists(self, group: str) -> bool:
        """Whether any part of the group is there."""
        return any(folder.is_dir() for folder in self.everywhere(group))

    def processes(self, group: str) -> set[int]:
        """The ids of all processes in a group and in those below it."""
        found: set[int] = set()
        for folder in self.folders(group):
            for below in _tree(folder):
                with contextlib.suppress(OSError):  # removed meanwhile
                    found.update(map(int, (below / "cgroup.procs").read_text().split()))
        return found

    def kill(self, group: str) -> None:
        """SIGKILL everything in a group and below it; returns when nothing is left there."""
        deadline = time.monotonic() + _GONE_WITHIN_S
        while left := self.processes(group):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise CgroupError(f"processes {sorted(left)} of {group} survive SIGKILL")
            time.sleep(0.01)

    def remove(self, group: str) -> None:
        """Remove an empty group, those below it and those above it that hold nothing else.

        A group that is not there is no error.
        """
        deadline = time.monotonic() + _GONE_WITHIN_S
        for folder in self.everywhere(group):
            for below in _tree(folder):
                _remove_folder(below, deadline)
            for above in folder.parents[: len(Path(group).parts) - 1]:
                with contextlib.suppress(OSError):
                    above.rmdir()


def make_folders(folder: Path) -> None:
    """Make a group's folder and those above it; raises CgroupError.

    Whoever removes another group at the same moment may take an empty one above away again.
    """
    for _ in range(_TRIES):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CgroupError(f"cannot make {folder}: {error.strerror}") from None
    raise CgroupError(f"cannot make {folder}: it vanishes again and again")


def _remove_folder(folder: Path, deadline: float) -> None:
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:  # busy: the kernel lets go of killed processes a little later
            if time.monotonic() > deadline:
                raise CgroupError(f"{folder} cannot be removed: {error.strerror}") from None
            time.sleep(0.01)


def _tree(folder: Path) -> Iterator[Path]:
    """All folders of a tree, deepest first."""
    for path, _folders, _files in os.walk(folder, topdown=False):
        yield Path(path)


def upwards(folder: Path, root: Path) -> Iterator[Path]:
    """``folder`` and those above it, up to the mounted root."""
    yield folder
    while folder != root:
        folder = folder.parent
        yield folder


def write(file: Path, value: str) -> None:
    """Write a kernel file; raises CgroupError that says what was refused."""
    try:
        file.write_text(value)
    except OSError as error:
        raise CgroupError(f"cannot write {value.strip()!r} to {file}: {error.strerror}") from None


def read(file: Path) -> str:
    """Read a kernel file, stripped; raises CgroupError."""
    try:
        return file.read_text().strip()
    except OSError as error:
        raise CgroupError(f"cannot read {file}: {error.strerror}") from None


def read_flat(file: Path) -> dict[str, int]:
    """Read a file of ``key number`` lines."""
    pairs = (line.split() for line in read(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def read_cores(file: Path) -> tuple[int, ...]:
    """Read a list of cores such as ``0-2,5``."""
    return parse_cores(read(file))


def write_cores(file: Path, cores: tuple[int, ...]) -> None:
    """Write a list of cores."""
    write(file, format_cores(cores))


def find_container(root: Path, identity: str) -> str | None:
    """The path below ``root`` of the folder that is named after a container.

    Docker and containerd call it ``<id>``, and ``docker-<id>.scope`` or ``cri-containerd-<id>.scope`` under systemd.
    """
    for path, folders, _files in os.walk(root):
        for folder in folders:
            if identity in folder:
                return str((Path(path) / folder).relative_to(root))
    return None


def tightest(limits: Iterator[float | None]) -> float | None:
    """The smallest of those that are limits at all."""
    return min((limit for limit in limits if limit is not None), default=None)
