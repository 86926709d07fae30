"""What a collector must offer: it observes one deployment, trial by trial."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.records.observed import Observed
from loadstone.model.study import Settings
from loadstone.orchestration.base import Orchestrator


class Collector(ABC):
    """Observes: ``start``; ``begin`` and ``end`` around each trial; ``stop``.

    A collector that fails spoils no trial: ``end`` notes what is missing. No process is left, even if we are killed.
    """

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Collector | None:
        """The collector of a deployment, where its settings ask for one.

        ``desk`` is this machine, by the address that replicas reach: its files and those of the run are on one disk.
        """

    @abstractmethod
    def start(self) -> None:
        """Start what runs beside the deployment. Raises DeploymentError where it cannot."""

    def prepare(self, deployment: Deployment) -> Deployment:
        """The deployment as it must be for this to observe it; called once it has been started."""
        return deployment

    @abstractmethod
    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        """A trial of this deployment begins; what is observed of it goes into ``folder``. Raises nothing."""

    @abstractmethod
    def end(self, observed: Observed, sent: int | None) -> Observed:
        """The trial has ended, its answers are in: write the files, and add this collector's part to the record.

        ``sent`` are all requests of the trial, None where that is not known. Problems are sentences about what could
        not be observed. Raises nothing.
        """

    @abstractmethod
    def stop(self) -> None:
        """End what ``start`` started. May be called twice."""
