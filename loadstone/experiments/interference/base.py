"""What every kind of interference can do; by itself it does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.experiments.durable import write_json
from loadstone.experiments.listener import Listener
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.records.interference import Disturbance
from loadstone.orchestration.base import Orchestrator

FILE = "interference.json"


class Interference:
    """The interference of a treatment, here none: deployed with it, started and stopped in each of its trials, removed
    with it."""

    problems: Sequence[str] = ()
    """Why it did not disturb the whole window of the trial, in sentences."""

    def deploy(self, deployment: Deployment, listener: Listener) -> None:
        """Deploy what stays for all trials; ``deployment`` is the application's, which runs. Raises
        DeploymentError."""

    def reset(self, listener: Listener) -> None:
        """Bring it back to how it was deployed."""

    def events(self) -> list[str]:
        """What of it died since it was deployed, as sentences."""
        return []

    def start(self, orchestrator: Orchestrator, folder: Path, longest_s: float) -> None:
        """Begin to disturb; ``orchestrator``: the application's, ``folder``: the trial's, which ends within
        ``longest_s``. Raises DeploymentError."""

    def begin_window(self) -> None:
        """The measured window begins."""

    def end_window(self) -> None:
        """The measured window has ended, whether or not what disturbs still does."""

    def stop(self) -> None:
        """End it; what it was goes into the trial's folder. May be called without ``start``."""

    def remove(self) -> None:
        """Remove all of it, also what a trial that was interrupted left. May be called twice."""


def write(folder: Path, disturbance: Disturbance) -> None:
    """Write a trial's ``interference.json``."""
    write_json(folder / FILE, disturbance.model_dump(mode="json"))


def disturbed(on: str | None, deployment: Deployment, nodes: dict[str, str]) -> list[Node]:
    """The nodes of a service's replicas, or that of the name ``on``; all workers without. ``nodes``: by replica, its
    node."""
    of_service = {nodes.get(replica.name, replica.node) for replica in deployment.of(on or "")}
    return [
        node
        for node in deployment.nodes
        if (node.role == "worker" if on is None else node.name in of_service or node.name == on)
    ]
