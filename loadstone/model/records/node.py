"""What the desk and ``stone node`` send each other: the arguments and the answers of each verb.

Sizes are in bytes, times in seconds where the name has no unit. ``docs/reference/node.md`` is the protocol; Go is
tested against the JSON Schema of these models (``infrastructure/machines/protocol.schema.json``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import models_json_schema

from loadstone.model.base import Model

PROTOCOL = 1
"""The version that ``hello`` names; a node of another one is refused."""
MOST_LINE_BYTES = 1 << 20
MOST_PAYLOAD_BYTES = 4 << 20
MOST_PORTS = 1000

FaultKind = Literal["input", "missing", "refused", "failed", "canceled"]


class Nothing(Model):
    """No arguments, or an answer that only says: done."""


class Hello(Model):
    """The first line of a node."""

    event: Literal["hello"]
    protocol: int
    version: str
    arch: str
    """As Go names it: ``amd64``."""
    boot: str
    """Id of the kernel's boot."""
    hostname: str
    uid: int
    pid: int
    state: str
    """The folder of its journal, of data and of logs."""


class Fault(Model):
    """Why a request failed."""

    kind: FaultKind
    message: str
    remedy: str = ""


class Request(Model):
    """A line of the desk; ``bytes`` raw bytes follow it."""

    id: Annotated[int, Field(ge=0)]
    verb: str
    args: dict[str, Any] = {}
    bytes: Annotated[int, Field(ge=0, le=MOST_PAYLOAD_BYTES)] = 0


class Reply(Model):
    """A line of a node after ``hello``: an event, or the end of a request. ``bytes`` raw bytes follow it."""

    id: int | None = None
    """None for a desk that does not keep to the protocol: the channel ends."""
    event: dict[str, Any] | None = None
    ok: dict[str, Any] | None = None
    error: Fault | None = None
    bytes: Annotated[int, Field(ge=0, le=MOST_PAYLOAD_BYTES)] = 0


class FactsArgs(Model):
    """``facts``: ``tools`` are programs to look for."""

    tools: tuple[str, ...] = ()


class Hypervisor(Model):
    """Present where the processor says so; its name is the machine's maker."""

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
    """Those that the node may use."""
    cpu_model: str
    memory: int
    memory_available: int
    swap: int
    hypervisor: Hypervisor
    product: str
    cgroups: Literal["v1", "v2", ""]
    unlimited_because: str
    """Why no limits can be set; empty if they can."""
    disks: dict[str, int]
    """Free bytes by folder."""
    tools: dict[str, str]
    """Paths of the programs asked for that are installed."""


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


class BeginArgs(Model):
    """``begin``: a deployment on this machine, journalled."""

    deployment: str
    digest: str
    owner: str


class Begun(Model):
    """Where a deployment's parts are."""

    folder: str
    """For its data; unused before."""
    group: str | None
    unlimited_because: str
    """Why there is no control group; empty if there is one."""


class NodeLimits(Model):
    """Limits of a process; None and no cores: unlimited."""

    cpu: float | None = None
    memory: int | None = None
    cores: tuple[int, ...] = ()
    pids: int | None = None


class SpawnArgs(Model):
    """``spawn``: a process of a deployment that outlives the channel."""

    deployment: str
    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = {}
    folder: str = ""
    user: str = ""
    limits: NodeLimits = NodeLimits()
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
    """0 if it never began."""
    alive: bool
    exit_code: int | None
    """None where it ended by a signal, or after the node that spawned it."""
    signal: str
    """Its name if one ended it, else empty."""
    oom_kills: int | None
    """None where the kernel does not count them."""
    since_ns: int
    """When it was started, Unix time; 0 if it never was, or before the last boot."""


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
    """Free ports; no other client of the machine is given them until the channel ends."""

    ports: tuple[int, ...]


class Subject(Model):
    """Where a replica runs: in a container, by its id, or in a control group of ours. Exactly one is given."""

    container: str = ""
    group: str = ""


class ReadArgs(Model):
    """``read``: of each replica."""

    what: tuple[Literal["limits", "usage", "namespaces", "events"], ...]
    replicas: dict[str, Subject]


class InForce(Model):
    """The limits in force; None is unlimited. ``cores``: where its first process may run."""

    cpu: float | None
    memory: int | None
    cores: tuple[int, ...]


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


class Standing(Model):
    """What the kernel has of one replica; the parts that were wanted."""

    absent: str
    """Why there is nothing; empty if there is."""
    limits: InForce | None
    usage: Used | None
    namespaces: dict[str, bool] | None
    """By kind: whether its first process is in another one than the kernel's first process."""
    events: ReplicaEvents | None


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
    """``watch``: record counters of the machine and of replicas until ``unwatch``, then send a Parquet file."""

    period_ms: int
    replicas: dict[str, Subject] = {}
    networks: dict[str, Subject] = {}
    """Of emulated hosts and switches, each by a control group in it."""


class Watching(Model):
    """The first event of a watch."""

    begun_ns: int
    absent: dict[str, str]
    """Why there is nothing, by family of counters."""


class Watched(Model):
    """How a watch ended. Its file came before, in pieces."""

    rows: int
    readings: int
    skipped: int
    """Readings whose time had passed."""
    absent: dict[str, str]
    stopped: str
    """Why it stopped by itself; empty if it did not."""
    size: int
    sha256: str


class UnwatchArgs(Model):
    """``unwatch``: the id of the request that watches."""

    id: int


VERBS: dict[str, tuple[type[Model], type[Model]]] = {
    "facts": (FactsArgs, Facts),
    "clock": (Nothing, Clock),
    "run": (RunArgs, Ran),
    "begin": (BeginArgs, Begun),
    "spawn": (SpawnArgs, Spawned),
    "list": (ListArgs, Listed),
    "stop": (StopArgs, Stopped),
    "end": (EndArgs, Ended),
    "log": (LogArgs, Logged),
    "put": (PutArgs, Stored),
    "get": (GetArgs, Stored),
    "ports": (PortsArgs, Ports),
    "read": (ReadArgs, Standings),
    "peaks": (PeaksArgs, Peaks),
    "watch": (WatchArgs, Watched),
    "unwatch": (UnwatchArgs, Nothing),
}
"""Arguments and answer by verb."""


def schema() -> dict[str, Any]:
    """The JSON Schema of all messages: ``$defs`` by name; ``verbs`` names arguments and answer of each."""
    models: set[type[Model]] = {Hello, Fault, Request, Reply, *(model for both in VERBS.values() for model in both)}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema([(model, "validation") for model in ordered], ref_template="#/$defs/{model}")
    verbs = {name: {"args": _reference(args), "ok": _reference(ok)} for name, (args, ok) in VERBS.items()}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "stone node", "protocol": PROTOCOL, "verbs": verbs, **definitions}


def _reference(model: type[Model]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{model.__name__}"}
