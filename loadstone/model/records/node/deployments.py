"""Processes that outlive the channel, in a machine's journal."""

from __future__ import annotations

from loadstone.model.base import Model


class NodeLimits(Model):
    """Limits of a process; None and no cores: unlimited."""

    cpu: float | None = None
    memory: int | None = None
    cores: tuple[int, ...] = ()
    pids: int | None = None


class BeginArgs(Model):
    """``begin``: a deployment on this machine, journalled."""

    deployment: str
    digest: str
    owner: str
    limits: NodeLimits = NodeLimits()
    """Limits of all its processes together."""


class Begun(Model):
    """Where a deployment's parts are."""

    folder: str
    """For its data; unused before."""
    user: str
    """The number of a user that no other deployment has; empty where the node is not root."""
    group: str | None
    unlimited_because: str
    """Why there is no control group; empty if there is one."""


class SpawnArgs(Model):
    """``spawn``: a process of a deployment that outlives the channel."""

    deployment: str
    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = {}
    folder: str = ""
    user: str = ""
    limits: NodeLimits = NodeLimits()
    groups: tuple[str, ...] = ()
    """Control groups made below that of the process, which is in the first of them, in every hierarchy."""
    files: dict[str, str] = {}
    """Text by path below the folder, written before it starts."""


class Spawned(Model):
    """The process: ``started`` is in ticks since boot."""

    pid: int
    started: int


class ListArgs(Model):
    """``list``: of one deployment, or of all."""

    deployment: str = ""


class NodeProcess(Model):
    """A process of a deployment, alive or dead."""

    name: str
    pid: int
    """0 if it never began, or before the last boot."""
    alive: bool
    cpus: tuple[int, ...]
    """Those that it may use, while it is alive."""
    exit_code: int | None
    """None where it ended by a signal, or after the node that spawned it."""
    signal: str
    """Its name if one ended it, else empty."""
    oom_kills: int | None
    """None where the kernel does not count them."""
    since_ns: int
    """When it was started, Unix time; 0 if it never was."""


class NodeDeployment(Model):
    """What the journal of a machine has."""

    deployment: str
    digest: str
    owner: str
    folder: str
    group: str | None
    processes: tuple[NodeProcess, ...]


class Listed(Model):
    """The deployments of a machine."""

    deployments: tuple[NodeDeployment, ...]


class StopArgs(Model):
    """``stop``: a signal by name (``TERM``); what is left after the grace is killed."""

    deployment: str
    names: tuple[str, ...]
    signal: str
    grace_s: float


class Stopped(Model):
    """The processes that had to be killed."""

    killed: tuple[str, ...]


class EndArgs(Model):
    """``end``: nothing of a deployment is left."""

    deployment: str


class Ended(Model):
    """The processes that were still running."""

    running: tuple[str, ...]


class LogArgs(Model):
    """``log``: the last lines of a process."""

    deployment: str
    name: str
    lines: int
    most_bytes: int


class Logged(Model):
    """The end of a log is the payload; ``truncated`` if it has fewer lines than were wanted, for its length."""

    truncated: bool
