"""A machine's facts, commands, files and ports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model
from loadstone.model.records.node.replicas import Owner

MOST_PORTS = 1000


class FactsArgs(Model):
    """``facts``: ``tools`` are programs to look for."""

    tools: tuple[str, ...] = ()


class Hypervisor(Model):
    """Present where the processor or the firmware says so; its name is the machine's maker."""

    present: bool
    name: str


class Facts(Model):
    """What does not change while a study runs, and what is free now."""

    hostname: str
    kernel: str
    os: str
    arch: str
    boot: str
    uid: int
    cpus: tuple[int, ...]
    """Cores that the node may use."""
    processors: int
    """All processors of the machine."""
    cpu_model: str
    governor: str
    """The governor of the first processor's speed; empty where the kernel does not set it."""
    load: float
    """Average of one minute."""
    memory: int
    memory_available: int
    page: int
    """Bytes that the kernel counts memory in."""
    swap: int
    hypervisor: Hypervisor
    product: str
    hardware: dict[str, str]
    """By part: ``firmware``, ``microcode``, ``nics``, ``disks``; without what the kernel does not report."""
    namespaces: dict[str, Owner]
    """Whose those of the node itself are, by kind."""
    cgroups: Literal["v1", "v2", ""]
    cpu_limit: float | None
    """Cores' worth of time that the node itself is held to, by the control group of its session; None: unlimited."""
    memory_limit: int | None
    unlimited_because: str
    """Why no limits can be set; empty if they can."""
    disks: dict[str, int]
    """Free bytes by folder."""
    tools: dict[str, str]
    """Paths of the requested programs that are installed."""


class Clock(Model):
    """Both clocks of the kernel, read one after the other."""

    realtime_ns: int
    monotonic_ns: int


class RunArgs(Model):
    """``run``: a command to its end, its standard input being the payload."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    folder: str = ""
    user: str = ""
    timeout_s: float
    follow: bool = False
    """Lines of both outputs come as events while it runs."""
    cores: tuple[int, ...] = ()


class Ran(Model):
    """How a command ended. The payload is the end of its standard output, then that of its standard error."""

    code: int
    """-1 if a signal ended it."""
    signal: str
    timed_out: bool
    truncated: bool
    dropped: int
    """Lines that were not sent as events."""
    stdout_bytes: int
    stderr_bytes: int


class PutArgs(Model):
    """``put``: the next piece of a file, which is whole and has its name after the last."""

    path: str
    mode: int
    user: str = ""
    offset: int
    last: bool
    sha256: str = ""
    size: int | None = None


class GetArgs(Model):
    """``get``: a file, or its last bytes."""

    path: str
    from_end: int | None = None


class Stored(Model):
    """A file as it is now."""

    size: int
    sha256: str


class PortsArgs(Model):
    """``ports``: those ``wanted`` first, where they are free."""

    address: str = ""
    """Empty: all of the machine's."""
    count: Annotated[int, Field(ge=1, le=MOST_PORTS)]
    wanted: tuple[int, ...] = ()


class Ports(Model):
    """Free ports; no other client of the same user is given them until the channel ends."""

    ports: tuple[int, ...]
