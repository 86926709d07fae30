"""Refuses comparisons of numbers of nodes on emulated hosts: more of them have no more cores."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.infrastructure.base import Finding
from loadstone.model.deployment import Deployment


def node_counts(deployments: Sequence[Deployment], accepted: bool) -> list[Finding]:
    """An error where treatments differ in how many emulated nodes they run on; a warning where the user accepts it."""
    counts = sorted(
        {len(_nodes(deployment)) for deployment in deployments if any(node.emulated for node in deployment.nodes)}
    )
    if len(counts) < 2:
        return []
    listed = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"
    message = f"treatments run on {listed} nodes, which share the cores of one machine: more nodes add no capacity"
    remedy = (
        "compare numbers of nodes on separate machines; with --emulated-ok the study runs, and shows only what the"
        " network and the orchestrator cost"
    )
    return [Finding("emulated hosts", "warning" if accepted else "error", message, remedy)]


def _nodes(deployment: Deployment) -> set[str]:
    """Those that replicas may run on; a scheduler of its own may use all that placement leaves it."""
    workers = [node.name for node in deployment.nodes if node.role == "worker"]
    return {node for service in deployment.services() for node in deployment.allowed.get(service) or workers}
