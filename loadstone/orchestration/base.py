"""What an orchestrator must offer: render (pure) -> apply -> ready -> audit -> remove."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.cgroup import Usage
from loadstone.model.deployment import AuditRow, Deployment
from loadstone.orchestration.state import Entry


class Orchestrator(ABC):
    """Deploys one ``Deployment``; made for it, used once.

    ``folder`` is where rendered files, data and logs of this deployment go.
    """

    name: ClassVar[str]
    expresses: ClassVar[dict[str, frozenset[str]]]
    """The levels that this orchestrator can really apply, by factor; a study that asks for more is refused."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self.deployment = deployment
        self.folder = folder

    @abstractmethod
    def preflight(self) -> list[Finding]:
        """What is missing to deploy (software, permissions, cores); changes nothing."""

    @abstractmethod
    def render(self) -> dict[str, str]:
        """The native files by name: pure, readable, the same for the same deployment."""

    @abstractmethod
    def apply(self, stores_only: bool = False) -> None:
        """Start all replicas (or those of the stores). Starting what runs already changes nothing."""

    @abstractmethod
    def ready(self, stores_only: bool = False) -> None:
        """Wait until every replica is ready; raises DeploymentError with the culprit's last log lines."""

    @abstractmethod
    def addresses(self, service: str, port: str) -> list[str]:
        """``host:port`` of each replica of a service, as the client reaches it."""

    @abstractmethod
    def audit(self) -> list[AuditRow]:
        """The limits and placement really in force, replica by replica, read back from the kernel."""

    @abstractmethod
    def events(self) -> list[str]:
        """Replicas that died, restarted or ran out of memory since they were started, as sentences."""

    @abstractmethod
    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str]:
        """The last lines of each replica's log, by replica name."""

    @abstractmethod
    def remove(self) -> None:
        """Stop and remove everything that ``apply`` made. May be called twice, and after a failed apply."""

    def usage(self) -> dict[str, Usage]:
        """What each running replica has used, by replica name; empty where an orchestrator cannot tell."""
        return {}

    def new_peaks(self) -> bool:
        """Begin a new memory peak of every replica; False where that cannot be done."""
        return False

    def versions(self) -> dict[str, str]:
        """The versions of the software that really runs the services, by name, for the provenance."""
        return {}

    @classmethod
    def undo(cls, entry: Entry) -> list[str]:
        """Remove what a journal entry of this orchestrator lists, whoever started it; returns what was removed."""
        return []
