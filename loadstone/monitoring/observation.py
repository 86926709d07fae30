"""What is observed of one deployment: the probes that its settings ask for, and ``observed.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.monitoring.base import Probe
from loadstone.monitoring.nodes import Nodes
from loadstone.monitoring.spans import Spans
from loadstone.orchestration.base import Orchestrator

FILE = "observed.json"


def observation_of(settings: Settings, deployment: Deployment) -> Observation:
    """The probes that a treatment asks for; they run where the client does."""
    client = next((node for node in deployment.nodes if node.role == "client"), None)
    if client is None:
        return Observation()
    traces, metrics = settings.traces, settings.metrics
    spans = Spans(traces, deployment, client) if traces is not None and traces.sample > 0 else None
    return Observation(spans, Nodes(metrics, deployment, client) if metrics is not None else None)


class Observation:
    """The probes of a deployment: ``start`` them before it is, for it must know where spans go."""

    def __init__(self, spans: Spans | None = None, nodes: Nodes | None = None) -> None:
        self._spans = spans
        self._nodes = nodes
        self._probes: list[Probe] = [probe for probe in (spans, nodes) if probe is not None]

    def start(self) -> None:
        """Start all probes, or none: raises DeploymentError where one cannot."""
        try:
            for probe in self._probes:
                probe.start()
        except BaseException:
            self.stop()
            raise

    def told(self, deployment: Deployment, orchestrator: str) -> Deployment:
        """The deployment as it must be to be observed; the probes have been started."""
        if self._nodes is not None:
            deployment = self._nodes.told(deployment, orchestrator)
        return deployment if self._spans is None else self._spans.told(deployment)

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        """A trial begins; its files go into ``folder``."""
        for probe in self._probes:
            probe.begin(orchestrator, folder)

    def end(self, orchestrator: Orchestrator, window: dict[str, int] | None, requests: int | None) -> dict[str, Any]:
        """The trial has ended: ``observed.json``. ``window`` is the measured one in unix nanoseconds.

        ``requests`` are all that were sent, to be compared with the traces that came. ``problems`` are all probes'.
        """
        said = {probe.name: probe.end() for probe in self._probes}
        problems = [problem for one in said.values() for problem in one.pop("problems")]
        where = orchestrator.nodes()
        nodes = {
            node.name: {"role": node.role, "cpus": list(node.cpus), "emulated": node.emulated, "recorded": False}
            for node in orchestrator.deployment.nodes
        }
        for name, told in said.get("nodes", {}).get("nodes", {}).items():
            nodes[name] = {**nodes.get(name, {}), "recorded": True, **told}
        return {
            "window": window,
            "nodes": nodes,
            "replicas": {
                one.name: {"service": one.service, "tier": one.tier, "node": where.get(one.name, one.node)}
                for one in orchestrator.deployment.replicas
            },
            "traces": {**said["spans"], "requests": requests} if "spans" in said else None,
            "problems": problems,
        }

    def stop(self) -> None:
        """End what was started."""
        for probe in self._probes:
            probe.stop()
