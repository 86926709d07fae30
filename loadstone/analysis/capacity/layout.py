"""What is deployed, as the capacity model sees it: replicas with their limits on nodes with their cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from loadstone.model.deployment import Deployment
from loadstone.model.records.reading import Reading
from loadstone.model.records.run_files import NodeFacts


@dataclass(frozen=True)
class Placed:
    """One replica. ``limit`` is its CPU in cores; None is unlimited."""

    service: str
    node: str
    limit: float | None


@dataclass(frozen=True)
class Layout:
    """Replicas, and the cores of the nodes that they run on; nodes whose cores are not known bound nothing."""

    replicas: tuple[Placed, ...]
    cores: Mapping[str, float]

    @classmethod
    def of(cls, deployment: Deployment) -> Layout:
        """The layout of a resolved deployment, without what only watches."""
        placed = (r for r in deployment.replicas if not r.stack)
        return cls(
            tuple(Placed(replica.service, replica.node, replica.resources.cpu) for replica in placed),
            {node.name: float(len(node.cpus)) for node in deployment.nodes if node.role == "worker" and node.cpus},
        )

    @classmethod
    def seen(cls, usage: Iterable[Reading], nodes: Iterable[NodeFacts]) -> Layout:
        """The layout by a trial's ``usage.json`` and the nodes of a run's provenance."""
        placed = tuple(Placed(reading.service, reading.node, reading.cpu_limit) for reading in usage)
        cores = {node.name: float(len(node.cpus)) for node in nodes if node.role == "worker" and node.cpus}
        return cls(placed, {name: count for name, count in cores.items() if any(p.node == name for p in placed)})

    def count(self, service: str) -> int:
        """Its replicas."""
        return sum(replica.service == service for replica in self.replicas)


@dataclass(frozen=True)
class StationPart:
    """What of a service runs at a station: ``here`` of its ``replicas``, each limited to ``limit`` cores."""

    service: str
    here: int
    replicas: int
    limit: float | None


@dataclass(frozen=True)
class Station:
    """What can run out of CPU: a service, whose equal replicas have a limit each; or a node with its cores."""

    kind: Literal["service", "node"]
    name: str
    capacity: float
    """Cores: of one replica, or of the node."""
    parts: tuple[StationPart, ...]

    def __str__(self) -> str:
        if self.kind == "node":
            return f"node {self.name} ({self.capacity:g} core{'s' if self.capacity != 1 else ''})"
        many = f"{self.parts[0].replicas} x " if self.parts[0].replicas > 1 else ""
        return f"{self.name} ({many}{self.capacity:g} core{'s' if self.capacity != 1 else ''})"


def stations(layout: Layout) -> list[Station]:
    """Every service with a limit, every node with known cores; of equal nodes the first stands for all."""
    count = Counter(replica.service for replica in layout.replicas)
    limits: dict[str, float | None] = {}
    on: dict[str, Counter[str]] = {name: Counter() for name in layout.cores}
    for placed in layout.replicas:
        limits[placed.service] = placed.limit
        if placed.node in on:
            on[placed.node][placed.service] += 1
    found = [
        Station("service", service, limit, (StationPart(service, 1, count[service], limit),))
        for service, limit in limits.items()
        if limit is not None
    ]
    alike: dict[tuple[object, ...], Station] = {}
    for name, here in on.items():
        parts = tuple(StationPart(service, here[service], count[service], limits[service]) for service in sorted(here))
        if parts:
            alike.setdefault((layout.cores[name], parts), Station("node", name, layout.cores[name], parts))
    return [*found, *alike.values()]
