"""What an infrastructure must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from loadstone.infrastructure.journal import JournalEntry
from loadstone.infrastructure.machines import connect
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node, Reach
from loadstone.model.guest import Vm

NO_SOFTWARE = "none"
"""What an orchestrator needs that deploys nothing: a client, and no nodes for replicas."""

Say = Callable[[str], None]
"""Receives progress messages for the user: ``starting 3 managers``."""


@dataclass(frozen=True)
class Finding:
    """One thing that a preflight looked at: fine, a warning, or a reason not to start."""

    what: str
    level: str  # ok | warning | error
    message: str
    remedy: str = ""
    stops: bool = True
    """Whether it ends the preflight as an error, because what comes next cannot be looked at."""


@dataclass(frozen=True)
class Access:
    """The way in to the software of a cluster; plain strings, so that the journal can hold it."""

    software: str
    """``docker``, ``swarm``, ``nomad`` or ``kubernetes``."""
    addresses: tuple[str, ...] = ()
    """The managers' addresses: Docker URLs, ``http://host:port`` of Nomad's servers; for Kubernetes, a kubeconfig's
    path."""
    engines: dict[str, str] = field(default_factory=dict)
    """By node that can run replicas, the engine there which images are loaded into: a Docker URL, or the path of a
    containerd socket. Only those that can be reached from here."""
    images: str = "packaged"
    """Which stores' images are wanted: ``packaged`` or ``official``."""
    registry: str = ""
    """Where images are pushed to instead, as the user names it."""
    cluster: str = ""
    """The journal's name of a cluster that we made; empty for one that was there."""
    switch: str = ""
    """The control group of the switch that joins emulated hosts: its interfaces see all that goes between them."""
    extra: dict[str, str] = field(default_factory=dict)
    """What only this software has: the address of Consul, a namespace."""
    sockets: dict[str, tuple[Reach, str]] = field(default_factory=dict)
    """Sockets of engines on hosts elsewhere, by the path here: the way to the host, and the path there."""

    def as_data(self) -> dict[str, Any]:
        """As the journal holds it."""
        sockets = {path: [reach.model_dump(), there] for path, (reach, there) in self.sockets.items()}
        return {**asdict(self), "sockets": sockets}

    @classmethod
    def of(cls, data: dict[str, Any]) -> Access:
        """From the journal's entries, also another process's: sockets of remote hosts are forwarded again."""
        sockets = {path: (Reach.model_validate(reach), there) for path, (reach, there) in data["sockets"].items()}
        for reach, there in sockets.values():
            connect(reach.options.get("host", reach.transport), reach).socket(there)
        return cls(**{**data, "addresses": tuple(data["addresses"]), "sockets": sockets})


@dataclass(frozen=True)
class Terms:
    """Under which machines are held."""

    machines: int
    kind: str
    """What they are, as the provider names it: ``compute_cascadelake_r at chi-uc``."""
    held_s: float | None = None
    """For how long; None where they stay until they are given back."""
    hourly: float | None = None
    """What one of them costs in an hour; None where the provider does not tell."""
    currency: str = ""
    """``EUR``; ``SU`` for service units."""

    def cost(self, machine_hours: float) -> str:
        """``13.5 SU``; empty where the price is unknown."""
        return "" if self.hourly is None else f"{self.hourly * machine_hours:.2f} {self.currency}"


@dataclass(frozen=True)
class Provision:
    """Nodes, and the way in to the software that runs on them; None where nothing but the machine is needed."""

    nodes: tuple[Node, ...]
    access: Access | None = None


class Infrastructure(ABC):
    """Hands out nodes with the software that an orchestrator needs on them. Made for one cluster, used once.

    ``entry_name`` is what it is called in the journal, where it makes anything.
    """

    name: ClassVar[str]
    software: ClassVar[frozenset[str]]
    """What it can put on its nodes, or finds there: ``process`` (nothing), ``docker``, ``swarm`` ..."""
    follows: ClassVar[frozenset[str]] = frozenset()
    """The keys of ``cluster`` that it follows, of those that not every infrastructure can: ``link``, ``inventory``."""
    self_contained: ClassVar[bool] = False
    """Whether it needs nothing but this machine."""
    makes: ClassVar[Mapping[str, frozenset[str]]] = {}
    """The environments for which it makes virtual machines (``vm``, ``vm-container``), each with the software that it
    can put in them."""
    makes_machines: ClassVar[bool] = False
    """Whether it makes machines that cost, and have to be given back."""
    finds_clusters: ClassVar[bool] = False
    """Whether it uses a cluster that is there, which may be one that Loadstone has made."""
    single_worker: ClassVar[bool] = False
    """Whether it has one worker and no more."""
    names_workers: ClassVar[bool] = True
    """Whether it names its workers ``worker-1`` and on; else they have names of their own."""

    def __init__(self, cluster: Cluster, entry_name: str) -> None:
        self.cluster = cluster
        self.entry_name = entry_name

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        """What of a study's ``cluster`` it cannot do, each with the key."""
        yield from ()

    @classmethod
    def wrong_files(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        """What is wrong with the files that a study's ``cluster`` names, each with the key."""
        yield from ()

    @classmethod
    def client_machines(cls, cluster: Cluster) -> int | None:
        """How many machines can generate load, this one where no other does; None where only the cluster knows."""
        return 1

    def in_guests(self, vm: Vm) -> Infrastructure:
        """The same with a virtual machine in place of each host; only where it makes some."""
        raise NotImplementedError(f"{self.name} makes no virtual machines")

    @abstractmethod
    def preflight(self, software: str, managers: int) -> list[Finding]:
        """What this infrastructure lacks or warns of; changes nothing."""

    @abstractmethod
    def sketch(self, software: str, managers: int) -> list[Node]:
        """The nodes as they would be; makes nothing."""

    def reaches(self, software: str, managers: int) -> list[tuple[str, Reach]]:
        """Names of the machines whose kernels the nodes have, each with how it is reached; they need not answer."""
        return [(node.name, node.kernel_reach) for node in self.sketch(software, managers)]

    def terms(self, managers: int) -> Terms | None:
        """What the machines would cost and for how long they are held; None of those that one simply has."""
        return None

    def acquire(  # noqa: B027, as most make none
        self, software: str, managers: int, say: Say, entry_ports: Sequence[int] = ()
    ) -> None:
        """Have the machines, made where there are too few, and prepared; they stay until ``give_back``. Only where it
        makes some. ``entry_ports``: where the requests of the study's applications enter.

        Raises PreflightError or DeploymentError, with nothing left behind.
        """

    def give_back(self, keep: bool, say: Say) -> None:  # noqa: B027
        """Give back the machines that ``acquire`` made, or ``keep`` them until their time is over."""

    @abstractmethod
    def provide(self, software: str, managers: int, say: Say) -> Provision:
        """The nodes, the client's among them; made where they do not exist yet. Leaves nothing behind if it fails."""

    @abstractmethod
    def release(self) -> None:
        """Give the nodes back; nothing that ``provide`` made is left. May be called twice."""

    def problems(self) -> list[str]:
        """Nodes that stopped working since they were provided, as sentences."""
        return []

    @classmethod
    def undo(cls, entry: JournalEntry) -> list[str]:
        """Remove what a journal entry of this infrastructure lists, of any process; returns what was removed."""
        return []
