"""What is emulated, and what that cannot show.

More emulated hosts have no more cores, so numbers of nodes are not compared on them. Virtual machines without KVM have
processors of software, on which nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.infrastructure.base import Finding
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.study import Study


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


def software_processors(study: Study, nodes: Sequence[Node], accepted: bool) -> list[Finding]:
    """An error where virtual machines would run on software: unless that is accepted, and always for a measurement."""
    if not any(node.guest is not None and node.guest.accelerator == "tcg" for node in nodes):
        return []
    message = "virtual machines are emulated by software here, which shows whether something works, not how fast"
    if study.comparison is not None or study.load.capacity is not None:
        return [Finding("emulated processors", "error", message, "compare and search on a machine whose KVM works")]
    remedy = "use a machine whose KVM works; with --emulated-ok this runs, and its environment is called emulated"
    return [Finding("emulated processors", "warning" if accepted else "error", message, remedy)]


def _nodes(deployment: Deployment) -> set[str]:
    """Those that replicas may run on; a scheduler of its own may use all that placement leaves it."""
    workers = [node.name for node in deployment.nodes if node.role == "worker"]
    return {node for service in deployment.services() for node in deployment.allowed.get(service) or workers}
