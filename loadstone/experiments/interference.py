"""What disturbs the trials of a treatment: started before the warm-up, ended after the window, recorded apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loadstone import plugins
from loadstone.experiments.durable import write_json
from loadstone.experiments.tuning import machines_of
from loadstone.infrastructure.base import Finding
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Stressor
from loadstone.model.records import Disturbance, NeighbourReading
from loadstone.model.trial import Treatment

FILE = "interference.json"


class Interference:
    """Of a treatment without any: started and stopped in each of its trials, removed with it."""

    problems: Sequence[str] = ()
    """Why it did not disturb the whole window of the trial, in sentences."""

    def remove(self) -> None:
        """Remove what a trial that was interrupted left. May be called twice."""

    def start(self, nodes: Mapping[str, str]) -> None:
        """Begin to disturb; ``nodes``: by replica of the application, its node. Raises DeploymentError."""

    def begin_window(self) -> None:
        """The measured window begins."""

    def end_window(self) -> None:
        """The measured window has ended, whether or not what disturbs still does."""

    def stop(self, folder: Path) -> None:
        """End it; what it was goes into the trial's folder. May be called without ``start``."""


class Stress(Interference):
    """Stressors on nodes, anew in each trial."""

    def __init__(self, stressor: Stressor, deployment: Deployment, cluster: str) -> None:
        self._stressor = stressor
        self._deployment = deployment
        self._cluster = cluster
        self._kind = plugins.find("interference", "stressor")
        self._running = None
        self.problems = ()

    def start(self, nodes: Mapping[str, str]) -> None:
        self.problems = ()
        where = stressed(self._stressor, self._deployment, nodes)
        if not where:
            raise DeploymentError(f"no replica of {self._stressor.on} runs on a node, so none can be stressed")
        running = self._kind(self._deployment.name, self._stressor, where, self._cluster)
        running.start()
        self._running = running

    def remove(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def begin_window(self) -> None:
        if self._running is not None:
            self._running.begin_window()

    def end_window(self) -> None:
        if self._running is not None:
            self._running.end_window()

    def stop(self, folder: Path) -> None:
        if self._running is None:
            return
        running, self._running = self._running, None
        running.end_window()  # of a load that was cut off, or whose driver reports no window
        readings: list[NeighbourReading] = running.stop()
        self.problems = tuple(f"interference: {problem}" for problem in running.problems)
        write(folder, Disturbance(level=str(self._stressor), readings=tuple(readings), problems=self.problems))


def write(folder: Path, disturbance: Disturbance) -> None:
    """Write a trial's ``interference.json``."""
    write_json(folder / FILE, disturbance.model_dump(mode="json"))


def stressed(stressor: Stressor, deployment: Deployment, nodes: Mapping[str, str]) -> list[Node]:
    """The nodes that a stressor is on; ``nodes``: by replica, its node."""
    of_service = {nodes.get(replica.name, replica.node) for replica in deployment.of(stressor.on or "")}
    return [
        node
        for node in deployment.nodes
        if (node.role == "worker" if stressor.on is None else node.name in of_service or node.name == stressor.on)
    ]


def findings(treatment: Treatment, deployment: Deployment) -> list[Finding]:
    """What of a treatment's interference cannot be done on its nodes."""
    wanted = treatment.settings.interference
    if wanted is None:
        return []
    nodes = stressed(wanted, deployment, {})
    if not nodes:
        names = ", ".join(node.name for node in deployment.nodes)
        message = f"interference.on: {wanted.on!r} is no service of {deployment.application}, and no node"
        return [Finding("interference", "error", message, f"nodes are: {names}")]
    machines, far = machines_of(nodes)
    if far:
        message = f"{', '.join(far)}: no channel leads to these machines, so nothing can be started beside replicas"
        remedy = "leave interference out, or use an infrastructure that reaches its nodes"
        return [Finding("interference", "error", message, remedy)]
    found: list[Finding] = plugins.find("interference", "stressor").findings(machines)
    return found
