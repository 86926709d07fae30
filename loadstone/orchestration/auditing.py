"""Reads the limits and the placement that are really in force for a process back from the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment, FoundReplica, Replica
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.deployments import NodeLimits, NodeProcess
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import InForce, ReplicaEnvironment, Standing
from loadstone.model.units import PERIOD_US, format_memory
from loadstone.orchestration.environment import Files, environment_rows

if TYPE_CHECKING:  # the package of processes imports this module
    from loadstone.orchestration.process.commands import Command
    from loadstone.orchestration.process.share import Share

_LEAST_PAGE = 4096
"""The smallest page of memory that a kernel has."""


def audit_process(
    command: Command,
    deployment: Deployment,
    share: Share,
    processes: Mapping[str, NodeProcess],
    standings: Mapping[str, Standing],
    facts: Facts,
) -> list[AuditRow]:
    """Rows of a replica: CPU, memory, cores, node, and those of its environment.

    What is wanted is put as the kernel counts it: CPU in hundred-thousandths, memory in whole pages.
    """
    replica = command.replica
    row = partial(AuditRow, replica=replica.name, node=replica.node)
    process, found = processes.get(replica.name), None
    if process is None or not process.alive:
        return [row(what="process", wanted="running", effective="not running")]
    if share.part.group is None:
        effective = InForce(cpu=None, memory=None, cores=process.cpus)
    else:
        standing = standings[replica.name]
        if (limits := _in_force(standing)) is None:
            why = standing.absent or "it is in no control group of its own"
            return [row(what="limits", wanted="in force", effective=why)]
        effective, found = limits, standing.environment
    rows = limit_rows(replica, replica.node, command.limits, effective, facts.page, share.part.unlimited_because)
    node = _node(deployment, replica.node, effective.cores or ())
    environment = _environment(replica, deployment.node(replica.node), deployment, "bare", "disk", facts, found)
    return [*rows, row(what="node", wanted=replica.node, effective=node), *environment]


def audit_container(
    found: FoundReplica, replica: Replica, deployment: Deployment, standing: Standing, facts: Facts | None, files: Files
) -> list[AuditRow]:
    """Rows of a replica in a container: CPU, memory, cores, node and those of its environment.

    What could not be read is a mismatch; ``facts`` are None of a machine that does not answer.
    """
    row = partial(AuditRow, replica=replica.name, node=found.node or "none")
    if (effective := _in_force(standing)) is None:
        why = "; ".join(filter(None, (found.why, standing.absent or "no process of it runs")))
        return [row(what="container", wanted="running", effective=why)]
    node = next((node for node in deployment.nodes if node.name == found.node), None)
    cores = _cores_for_containers(node, facts) if node is not None else ()
    wanted = NodeLimits(cpu=replica.resources.cpu, memory=replica.resources.memory, cores=cores)
    allowed = deployment.allowed.get(replica.service) or [
        node.name for node in deployment.nodes if node.role == "worker"
    ]
    on = found.node if found.node in allowed else " or ".join(allowed)
    if wanted.memory is None and node is not None and (effective.memory or 0) >= node.memory:
        # A kubelet limits all pods together to what its node has.
        effective = effective.model_copy(update={"memory": None})
    page = facts.page if facts is not None else _LEAST_PAGE
    limits = limit_rows(replica, found.node, wanted, effective, page)
    rows = [*limits, row(what="node", wanted=on, effective=found.node)]
    if node is None or facts is None:
        return [*rows, row(what="environment", wanted=deployment.environment or "container", effective="unknown")]
    return [*rows, *_environment(replica, node, deployment, "container", files, facts, standing.environment)]


def _cores_for_containers(node: Node, facts: Facts | None) -> tuple[int, ...]:
    """Those that containers may use. A cluster that was there before tells how many a node has, not which: there, the
    container that reads has the same as replicas."""
    return facts.cpus if node.reach.through_cluster and facts is not None else node.cpus


def _environment(
    replica: Replica,
    node: Node,
    deployment: Deployment,
    default: Literal["bare", "container"],
    files: Files,
    facts: Facts,
    found: ReplicaEnvironment | None,
) -> list[AuditRow]:
    """What a replica runs in, and the hardware of a virtual machine that was made for it."""
    boot = this_machine().boot
    rows = environment_rows(replica, node, deployment.environment, default, files, facts, found, boot)
    if node.guest is None:
        return rows
    from loadstone.orchestration.hardware import guest_rows  # a slow import that only virtual machines need

    return rows + guest_rows(replica, node.name, node.guest, facts, boot)


def limit_rows(
    replica: Replica, node: str, wanted: NodeLimits, effective: InForce, page: int, waived: str = ""
) -> list[AuditRow]:
    """CPU, memory and cores: wanted beside effective, as the kernel counts them; ``page``: its bytes of memory."""
    row = partial(AuditRow, replica=replica.name, node=node)
    wanted_memory = wanted.memory // page * page if wanted.memory is not None else None
    wanted_cpu = round(wanted.cpu * PERIOD_US) / PERIOD_US if wanted.cpu is not None else None
    difference = waived if wanted.cpu is not None or wanted.memory is not None else ""
    cores = format_cores(wanted.cores)
    return [
        row(what="cpu", wanted=_cpu(wanted_cpu), effective=_cpu(effective.cpu), waived=difference),
        row(what="memory", wanted=_memory(wanted_memory), effective=_memory(effective.memory), waived=difference),
        row(what="cores", wanted=cores, effective=format_cores(effective.cores or ())),
    ]


def _in_force(standing: Standing) -> InForce | None:
    """The limits of a replica that runs; without a process there are no cores, and nothing is limited."""
    return standing.limits if standing.limits is not None and standing.limits.cores is not None else None


def _cpu(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"


def _memory(limit: int | None) -> str:
    return "unlimited" if limit is None else format_memory(limit)


def _node(deployment: Deployment, name: str, cores: tuple[int, ...]) -> str:
    """The node on the same machine whose cores hold all of ``cores``, the named one if several do."""
    wanted = deployment.node(name)
    nodes = [wanted, *(node for node in deployment.nodes if node.name != name and node.reach == wanted.reach)]
    return next((node.name for node in nodes if set(cores) <= set(node.cpus)), "none")
