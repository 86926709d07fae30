"""What is observed of one deployment: the probes that its settings ask for, and ``observed.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.monitoring.base import Probe
from loadstone.orchestration.base import Orchestrator

FILE = "observed.json"


def observation_of(settings: Settings, deployment: Deployment) -> Observation:
    """What a treatment asks for."""
    client = next((node for node in deployment.nodes if node.role == "client"), None)
    if client is None:
        return Observation()
    kinds = (plugins.find("probes", name) for name in plugins.names("probes"))
    probes = (kind.asked(settings, deployment, client) for kind in kinds)
    return Observation([probe for probe in probes if probe is not None])


class Observation:
    """The probes of a deployment: ``start`` them before it is, for it must know where spans go."""

    def __init__(self, probes: Sequence[Probe] = ()) -> None:
        self._probes = probes

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
        for probe in self._probes:
            deployment = probe.told(deployment, orchestrator)
        return deployment

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
            "traces": {**said.pop("spans"), "requests": requests} if "spans" in said else None,
            "others": {name: told for name, told in said.items() if name != "nodes"},
            "problems": problems,
        }

    def stop(self) -> None:
        """End what was started."""
        for probe in self._probes:
            probe.stop()
