"""What an orchestrator must offer: render (pure) -> apply -> ready -> audit -> remove."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.journal import JournalEntry
from loadstone.infrastructure.machines import connect
from loadstone.model.deployment import Deployment
from loadstone.model.environment import Environment

if TYPE_CHECKING:
    from loadstone.model.records.audit import AuditRow
    from loadstone.model.records.node.replicas import Subject, Used


class Place(Protocol):
    """From where the replicas of a deployment are reached: a machine, or a container in their network."""

    @property
    def stone(self) -> str:
        """The path of the ``stone`` binary there."""

    def command(self, argv: Sequence[str]) -> list[str]:
        """The local command line that runs ``argv`` there, with standard input and outputs attached."""

    def deliver(self, program: Path) -> str:
        """The path there of a file of the desk's, copied there if it is not."""


class Orchestrator(ABC):
    """Deploys one ``Deployment``; made for it, used once.

    ``folder`` is where rendered files, data and logs of this deployment go; ``access`` is the way in to the cluster
    that it goes to, None where there is none yet (then only ``preflight`` and ``render`` can be called).
    """

    name: ClassVar[str]
    software: ClassVar[str]
    """What must run on the nodes: ``process`` (nothing), ``docker``, ``swarm``, ``nomad``, ``kubernetes``."""
    managed: ClassVar[bool] = False
    """Whether it runs services of its own on manager nodes."""
    single_worker: ClassVar[bool] = False
    """Whether all replicas run on one node."""
    environments: ClassVar[tuple[Environment, ...]]
    """What can lie under a replica; the first where a study leaves it out."""
    resolves_names: ClassVar[bool] = False
    """Whether a replica reaches a service by its name."""
    beside_others: ClassVar[bool] = False
    """Whether a second deployment can run on the nodes of a first one, whatever ports both have."""
    deploys: ClassVar[bool] = True
    """Whether it starts anything; else a server is there already."""
    deploying_s: ClassVar[float] = 30.0
    """About how long a deployment takes, and its cluster if that has to be made, before any has been seen."""
    expresses: ClassVar[Mapping[str, frozenset[str]]] = {}
    """The levels that this orchestrator can really apply, by factor, where those are not all. A study with
    others is refused."""

    @classmethod
    def levels(cls) -> dict[str, frozenset[str]]:
        """``expresses`` with the environments."""
        return {**cls.expresses, "environment": frozenset(cls.environments)}

    @classmethod
    def runs_containers(cls) -> bool:
        """Whether replicas are made from images, and not started as programs of their node."""
        return bool({"container", "vm-container"} & set(cls.environments))

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        self.deployment = deployment
        self.folder = folder
        self.access = access

    @abstractmethod
    def preflight(self) -> list[Finding]:
        """What is missing to deploy (software, permissions, cores); changes nothing."""

    @abstractmethod
    def render(self) -> dict[str, str]:
        """The native files by name: pure, readable, the same for the same deployment."""

    def prepare(self, say: Say) -> None:  # noqa: B027 - an orchestrator that needs nothing leaves it out
        """What takes long before anything can be started, such as images; ``apply`` does it where this was left out."""

    @abstractmethod
    def apply(self, stores_only: bool = False) -> None:
        """Start all replicas (or those of the stores). Starting what runs already changes nothing."""

    @abstractmethod
    def ready(self, stores_only: bool = False) -> None:
        """Wait until every replica is ready; raises DeploymentError with the culprit's last log lines."""

    @property
    def password(self) -> str:
        """What the stores of this deployment demand; empty where they have no password."""
        return ""

    @abstractmethod
    def addresses(self, service: str, port: str) -> list[str]:
        """``host:port`` of each replica of a service, as the client reaches it."""

    def inside(self) -> Place | None:
        """From where stores are filled and read, at their ``inner`` addresses: the first client; None for this machine.

        Valid until a replica moves.
        """
        client = next((node for node in self.deployment.nodes if node.role == "client"), None)
        return connect(client.name, client.reach) if client is not None and not client.reach.local else None

    def inner(self, service: str, port: str) -> list[str]:
        """``host:port`` of each replica of a service, as it is reached from ``inside``."""
        return self.addresses(service, port)

    @abstractmethod
    def audit(self) -> list[AuditRow]:
        """The limits and placement really in force, replica by replica, read back from the kernel."""

    @abstractmethod
    def events(self) -> list[str]:
        """Replicas that died, restarted or ran out of memory since they were started, as sentences."""

    @abstractmethod
    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str | None]:
        """The last lines of each replica's log, by replica name; None of one that cannot be read."""

    @abstractmethod
    def remove(self) -> None:
        """Stop and remove everything that ``apply`` made. May be called twice, and after a failed apply."""

    def nodes(self) -> dict[str, str]:
        """The node of each replica by replica name, as far as it is known."""
        return {replica.name: replica.node for replica in self.deployment.replicas}

    def usage(self) -> dict[str, Used]:
        """What each running replica has used, by replica name; empty where an orchestrator cannot tell."""
        return {}

    def subjects(self) -> dict[str, tuple[str, Subject]]:
        """By replica its node, and how the node's machine finds it, where it can."""
        return {}

    def new_peaks(self) -> bool:
        """Begin a new memory peak of every replica; False where that cannot be done."""
        return False

    def versions(self) -> dict[str, str]:
        """The versions of the software that really runs the services, by name, for the provenance."""
        return {}

    @classmethod
    def undo(cls, entry: JournalEntry) -> list[str]:
        """Remove what a journal entry of this orchestrator lists, also of another process; returns what was removed."""
        return []
