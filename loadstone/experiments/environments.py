"""Whether machines can be what a study says of its environments, before anything is started on them."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.experiments.plan import Plan
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Node
from loadstone.model.environment import GUESTS
from loadstone.model.errors import LoadstoneError
from loadstone.model.trial import Treatment


def findings(plan: Plan, treatment: Treatment, nodes: Sequence[Node]) -> list[Finding]:
    """An error for each worker that is a virtual machine and not declared as one, or the other way round.

    Machines that are yet to be made are not looked at, nor nodes that only a deployment reaches: there the audit says
    it.
    """
    level, study = treatment.settings.environment, plan.of(treatment).study
    if not study.names_environment or level in GUESTS:
        return []
    unseen = [node for node in nodes if node.reach.through_cluster or node.reach.planned]
    workers = [node for node in nodes if node.role == "worker" and node not in unseen]
    declared = study.cluster.machine == "vm"
    return [_finding(node, str(level), declared) for node in workers if _is_guest(node) not in (None, declared)]


def _is_guest(node: Node) -> bool | None:
    """None of a machine that does not answer, which others report."""
    try:
        return connect(node.name, node.reach).facts().hypervisor.present
    except LoadstoneError:
        return None


def _finding(node: Node, level: str, declared: bool) -> Finding:
    if declared:
        message = f"{node.name} is no virtual machine, but cluster.machine declares it"
        return Finding("environment", "error", message, "remove cluster.machine")
    message = f"{node.name} is a virtual machine, so what runs on it is not {level!r}"
    remedy = "declare it with cluster: {machine: vm}, and results will call it so; or leave the environment out"
    return Finding("environment", "error", message, remedy)
