"""What limits become in Nomad, and whether they can be had: it reserves the CPU that it limits. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

from loadstone.infrastructure.base import Finding
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.units import PERIOD_US, format_memory

UNLIMITED_MIB = 2**43 - 1
"""A memory limit that is none: Nomad 1.6 cannot leave it out, and the kernel has no larger one in whole MiB."""
LEAST_MIB = 10
"""Nomad reserves no less memory than this, and a limit must not be below what is reserved."""
LEAST_MHZ = 2
"""Nomad hands what it reserves to the kernel as the weight of a group, which must be 2 at least."""
REMEDY = "set smaller limits (`resources`), choose another scaling or profile, or use more or larger workers"

_MIB = 2**20
_PERIOD_STEPS_US = (100, 1)
"""Round periods are tried first; of a node with many cores only an odd one may do."""
_SMALLEST_QUOTA_US = 1000
"""The kernel takes none below."""


def shares(replica: Replica, mhz: int) -> int:
    """The MHz that a replica's limit is, and that Nomad reserves for it; the least possible without a limit."""
    return max(LEAST_MHZ, round((replica.resources.cpu or 0) * mhz))


def period(replica: Replica, mhz: int, cores: set[int]) -> int:
    """The period of CPU quotas, in microseconds, at which Nomad's arithmetic gives exactly the wanted limit.

    Its docker driver rounds a replica's part of the whole node down to whole microseconds of one core and takes that
    times the node's cores (drivers/docker/driver.go), so that a third of three cores is not one core at the usual
    period. ``cores``: how many the nodes have. 0 for a replica without a limit, and where no period gives it.
    """
    if (wanted := replica.resources.cpu) is None:
        return 0
    mine = shares(replica, mhz)

    def gives(number: int, period: int) -> bool:
        quota = int(mine / (mhz * number) * period) * number
        return quota >= _SMALLEST_QUOTA_US and f"{quota / period:g}" == f"{round(wanted * PERIOD_US) / PERIOD_US:g}"

    candidates = chain.from_iterable(range(PERIOD_US, 0, -step) for step in _PERIOD_STEPS_US)
    return next((candidate for candidate in candidates if all(gives(number, candidate) for number in cores)), 0)


def allowed(deployment: Deployment, service: str) -> tuple[str, ...]:
    """The nodes that a service may run on."""
    every = tuple(node.name for node in deployment.nodes if node.role == "worker")
    return deployment.allowed.get(service) or every


def findings(deployment: Deployment, mhz: int) -> Iterator[Finding]:
    """Limits that Nomad cannot give: more than the nodes have together, or not exactly."""
    yield from _too_much(deployment, mhz)
    yield from _inexact(deployment, mhz)


def _too_much(deployment: Deployment, mhz: int) -> Iterator[Finding]:
    """For each set of nodes that services are bound to, what all that cannot go elsewhere want of them."""
    for nodes in dict.fromkeys(allowed(deployment, replica.service) for replica in deployment.replicas):
        bound = [
            candidate for candidate in deployment.replicas if set(allowed(deployment, candidate.service)) <= set(nodes)
        ]
        wanted = sum(candidate.resources.cpu or 0 for candidate in bound)
        agents = sum(LEAST_MHZ / mhz for name in nodes if deployment.node(name).reach.through_cluster)
        if round(wanted + agents, 6) > _cores(deployment, nodes):
            there = _there(deployment, nodes)
            also = f" and their agents want {agents:g}" if agents else ""
            message = f"the limits of {len(bound)} replicas add up to {wanted:g} CPUs{also}, but {there}"
            yield Finding("cpu", "error", f"{message}; Nomad reserves what it limits", REMEDY)


def _inexact(deployment: Deployment, mhz: int) -> Iterator[Finding]:
    """Limits that would become others, each with the services that have it."""
    cpu, memory = defaultdict(list), defaultdict(list)
    for service, (replica, *_) in deployment.services().items():
        cores = {len(deployment.node(name).cpus) for name in allowed(deployment, service)}
        if replica.resources.cpu is not None and not period(replica, mhz, cores):
            cpu[f"{replica.resources.cpu:g} CPUs"].append(service)
        limit = replica.resources.memory
        if limit is not None and (limit % _MIB or limit < LEAST_MIB * _MIB):
            memory[format_memory(limit)].append(service)
    for what, found, remedy in (
        ("cpu", cpu, "choose limits of whole hundredths, 0.05 or more"),
        ("memory", memory, f"choose limits of whole MiB, {LEAST_MIB}MiB or more"),
    ):
        for wanted, services in found.items():
            message = f"{', '.join(services)}: Nomad cannot limit a replica to exactly {wanted}"
            yield Finding(what, "error", message, f"{remedy} (`resources`)")


def unplaced(deployment: Deployment, service: str, metrics: dict[str, Any]) -> tuple[str, str]:
    """What Nomad's scheduler says of a group that it found no node for (``FailedTGAllocs``), and the remedy."""
    exhausted = metrics.get("DimensionExhausted") or {}
    reasons = [
        f"{what} on {count} of {metrics['NodesEvaluated']} nodes"
        for what, count in {**exhausted, **(metrics.get("ConstraintFiltered") or {})}.items()
    ]
    message = f"{service}: Nomad finds no node for it: {'; '.join(reasons) or 'none is ready'}"
    if "cpu" in exhausted:
        nodes = tuple(node.name for node in deployment.nodes if node.role == "worker")
        wanted = sum(replica.resources.cpu or 0 for replica in deployment.replicas)
        message += f"\n  the deployment reserves {wanted:g} CPUs in all; {_there(deployment, nodes)}"
        return message, REMEDY
    if any("port collision" in what for what in exhausted):
        return message, "stop the job that has the port, or use another node"
    return message, "`nomad node status` shows the nodes"


def _there(deployment: Deployment, nodes: tuple[str, ...]) -> str:
    some = ", ".join(nodes) if len(nodes) <= 3 else f"{nodes[0]} and {len(nodes) - 1} more"
    return f"{some} {'has' if len(nodes) == 1 else 'have'} {_cores(deployment, nodes)}"


def _cores(deployment: Deployment, nodes: tuple[str, ...]) -> int:
    return sum(len(deployment.node(name).cpus) for name in nodes)
