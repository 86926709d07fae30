"""What a probe must offer: it observes one deployment, trial by trial."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration.base import Orchestrator


class Probe(ABC):
    """Observes: ``start``; ``begin`` and ``end`` around each trial; ``stop``.

    A probe that fails spoils no trial: ``end`` says what is missing. No process is left, even if we are killed.
    """

    name: ClassVar[str]
    """What its part of ``observed.json`` is called."""

    @classmethod
    @abstractmethod
    def asked(cls, settings: Settings, deployment: Deployment, client: Node) -> Probe | None:
        """The probe of a deployment, where its settings ask for one; it runs where the client does."""

    @abstractmethod
    def start(self) -> None:
        """Start what runs beside the deployment. Raises DeploymentError where it cannot."""

    def told(self, deployment: Deployment, orchestrator: str) -> Deployment:
        """The deployment as it must be for this to observe it; asked once it has been started."""
        return deployment

    @abstractmethod
    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        """A trial of this deployment begins; what is observed of it goes into ``folder``. Raises nothing."""

    @abstractmethod
    def end(self) -> dict[str, Any]:
        """The trial has ended, its answers are in: write the files; what ``observed.json`` says of them.

        ``problems``, a list of sentences, says what could not be observed. Raises nothing.
        """

    @abstractmethod
    def stop(self) -> None:
        """End what ``start`` started. May be called twice."""
