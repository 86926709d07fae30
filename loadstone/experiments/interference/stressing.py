"""Stressors on nodes, anew in each trial."""

from __future__ import annotations

from pathlib import Path

from loadstone import plugins
from loadstone.experiments.interference.base import Interference, disturbed, write
from loadstone.experiments.tuning import machines_of
from loadstone.infrastructure.base import Finding
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Stressor
from loadstone.model.records.interference import Disturbance, NeighbourReading
from loadstone.orchestration.base import Orchestrator


class Stress(Interference):
    """``cluster``: the journal's name of the cluster of ours that the nodes are in."""

    def __init__(self, stressor: Stressor, cluster: str) -> None:
        self._stressor = stressor
        self._cluster = cluster
        self._kind = plugins.find("interference", "stressor")
        self._running = None
        self._folder = Path()
        self.problems = ()

    def start(self, orchestrator: Orchestrator, folder: Path, longest_s: float) -> None:
        self.problems, self._folder = (), folder
        deployment = orchestrator.deployment
        where = disturbed(self._stressor.on, deployment, orchestrator.nodes())
        if not where:
            raise DeploymentError(f"no replica of {self._stressor.on} runs on a node, so none can be stressed")
        running = self._kind(deployment.name, self._stressor, where, self._cluster)
        running.start()
        self._running = running

    def begin_window(self) -> None:
        if self._running is not None:
            self._running.begin_window()

    def end_window(self) -> None:
        if self._running is not None:
            self._running.end_window()

    def stop(self) -> None:
        if self._running is None:
            return
        running, self._running = self._running, None
        running.end_window()  # of a load that was cut off, or whose driver reports no window
        readings: list[NeighbourReading] = running.stop()
        self.problems = tuple(f"interference: {problem}" for problem in running.problems)
        write(self._folder, Disturbance(level=str(self._stressor), readings=tuple(readings), problems=self.problems))

    def remove(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


def findings(stressor: Stressor, deployment: Deployment) -> list[Finding]:
    """What of a stressor cannot be done on the nodes of a deployment."""
    nodes = disturbed(stressor.on, deployment, {})
    machines, far = machines_of(nodes)
    if far:
        message = f"{', '.join(far)}: no channel leads to these machines, so nothing can be started beside replicas"
        remedy = "leave interference out, or use an infrastructure that reaches its nodes"
        return [Finding("interference", "error", message, remedy)]
    found: list[Finding] = plugins.find("interference", "stressor").findings(machines)
    return found
