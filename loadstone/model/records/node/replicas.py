"""What a kernel has of replicas, and the counters of a window."""

from __future__ import annotations

from typing import Literal

from loadstone.model.base import Model


class Subject(Model):
    """Where a replica runs: in a container, by its id, or in a control group of ours. Exactly one is given."""

    container: str = ""
    group: str = ""
    folder: str = ""
    """The folder of its files, as the replica sees it; empty where it has none."""


class ReadArgs(Model):
    """``read``: of each replica."""

    what: tuple[Literal["limits", "usage", "environment", "events", "io"], ...]
    replicas: dict[str, Subject]


class InForce(Model):
    """The limits in force; None is unlimited. ``cores``: where its first process may run, None without one."""

    cpu: float | None
    memory: int | None
    cores: tuple[int, ...] | None


class Used(Model):
    """What a replica has used since it began; None where the kernel does not count it."""

    cpu_s: float
    periods: int | None
    throttled_periods: int | None
    throttled_s: float | None
    memory: int
    """The page cache included."""
    memory_peak: int | None
    """Since it was begun anew."""
    oom_kills: int | None
    pids: int


class ReplicaEvents(Model):
    """What befell a replica since it was started; None where the kernel does not count it."""

    oom_kills: int | None
    forks_refused: int | None


Owner = Literal["kernel", "node", "own", ""]
"""Whose a namespace is: that of the kernel's first process, that of the node (of an emulated host), or another; empty
where the kernel does not let us know."""


class Mounted(Model):
    """A mount, as a process sees it; ``type`` is that of its file system."""

    point: str
    type: str


class ReplicaEnvironment(Model):
    """What lies between a replica's first process and its kernel."""

    container: str
    """The id of the container whose engine made its control group; empty: no engine did."""
    namespaces: dict[str, Owner]
    """By kind; none without a process."""
    files: Mounted | None
    """What holds the folder of its files; None without a folder."""


class ReplicaIO(Model):
    """Bytes that the processes of a replica which live have read from storage and written to it, since each began."""

    read: int
    written: int


class Standing(Model):
    """What the kernel has of one replica; the parts that were wanted."""

    absent: str
    """Why there is nothing; empty if there is."""
    limits: InForce | None
    usage: Used | None
    environment: ReplicaEnvironment | None
    events: ReplicaEvents | None
    io: ReplicaIO | None
    """None where the kernel does not count it."""

    @classmethod
    def nothing(cls, why: str) -> Standing:
        """The state of a replica that could not be read."""
        return cls(absent=why, limits=None, usage=None, environment=None, events=None, io=None)


class Standings(Model):
    """By replica."""

    replicas: dict[str, Standing]


class PeaksArgs(Model):
    """``peaks``: begin a new memory peak of each replica."""

    replicas: dict[str, Subject]


class Peaks(Model):
    """By replica, whether its peak begins anew."""

    peaks: dict[str, bool]


class WatchArgs(Model):
    """``watch``: record counters of the machine and of replicas until ``unwatch``."""

    period_ms: int
    replicas: dict[str, Subject] = {}
    networks: dict[str, Subject] = {}
    """Networks of emulated hosts and switches, each found by a control group in it."""
    cores: tuple[int, ...] = ()
    """Those that the thread which reads may run on; all where empty."""


class Watching(Model):
    """The first event of a watch."""

    id: int
    """The id of the request, for ``unwatch``."""
    begun_ns: int
    absent: dict[str, str]
    """Why there is nothing, by family of counters."""


class WatchedPart(Model):
    """A later event of a watch: its payload belongs to a Parquet file. Each file is whole by itself."""

    last: bool
    """Whether the file is whole."""


class Watched(Model):
    """How a watch went. Its files came before."""

    rows: int
    readings: int
    skipped: int
    """Readings whose time had passed."""
    absent: dict[str, str]
    """Why there is nothing, or nothing any more, by family of counters."""
    stopped: str
    """Why it stopped by itself; empty if it did not."""


class UnwatchArgs(Model):
    """``unwatch``: the id of the request that watches."""

    id: int
