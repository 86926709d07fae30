"""What is observed of one deployment: the collectors that its settings ask for, and ``observed.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone import plugins
from loadstone.infrastructure import desk
from loadstone.model.deployment import Deployment
from loadstone.model.records.observed import MeasuredWindow, Observed, ObservedNode, ObservedReplica
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.orchestration.base import Orchestrator

FILE = "observed.json"


def observation_of(settings: Settings, deployment: Deployment) -> Observation:
    """The collectors that a treatment's settings name."""
    here = desk.of(deployment.nodes)
    if here is None:
        return Observation()
    kinds = (plugins.find("collectors", name) for name in plugins.names("collectors"))
    collectors = (kind.wanted(settings, deployment, here) for kind in kinds)
    return Observation([collector for collector in collectors if collector is not None])


class Observation:
    """The collectors of a deployment: ``start`` them before it is, for it must know where spans go."""

    def __init__(self, collectors: Sequence[Collector] = ()) -> None:
        self._collectors = collectors

    def start(self) -> None:
        """Start all collectors, or none: raises DeploymentError where one cannot."""
        try:
            for collector in self._collectors:
                collector.start()
        except BaseException:
            self.stop()
            raise

    def prepare(self, deployment: Deployment) -> Deployment:
        """The deployment as it must be to be observed; the collectors have been started."""
        for collector in self._collectors:
            deployment = collector.prepare(deployment)
        return deployment

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        """A trial begins; its files go into ``folder``."""
        for collector in self._collectors:
            collector.begin(orchestrator, folder)

    def end(self, orchestrator: Orchestrator, window: MeasuredWindow | None, sent: int | None) -> Observed:
        """The trial has ended: ``observed.json``, to which each collector adds its part.

        ``sent`` are all requests of the trial, to be compared with the traces that came.
        """
        where = orchestrator.nodes()
        observed = Observed(
            window=window,
            nodes={
                node.name: ObservedNode(role=node.role, cpus=node.cpus, emulated=node.emulated, recorded=False)
                for node in orchestrator.deployment.nodes
            },
            replicas={
                replica.name: ObservedReplica(
                    service=replica.service, tier=replica.tier, node=where.get(replica.name, replica.node)
                )
                for replica in orchestrator.deployment.replicas
            },
        )
        for collector in self._collectors:
            observed = collector.end(observed, sent)
        return observed

    def stop(self) -> None:
        """End what was started."""
        for collector in self._collectors:
            collector.stop()
