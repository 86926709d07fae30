"""Ports of nodes that are not Nomad's to choose, and whether there are nodes enough for them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from loadstone.infrastructure.base import Finding
from loadstone.model.deployment import Deployment, Replica
from loadstone.orchestration.nomad.capacity import allowed

REMEDY = "use more workers, or have services listen on different ports"


def is_fixed(deployment: Deployment, replicas: list[Replica], name: str) -> bool:
    """Whether a port has its own number on its node: of an only entry, and where images know it by that number."""
    first = replicas[0]
    entry = len(replicas) == 1 and deployment.enters(first, name)
    return entry or first.stack or any(first.service in it.needs for it in deployment.replicas if it.image is not None)


def findings(deployment: Deployment) -> Iterator[Finding]:
    """Port numbers that more replicas have than there are nodes for them: a node has each number once."""
    having: dict[int, list[Replica]] = defaultdict(list)
    for replicas in deployment.services().values():
        for name, number in replicas[0].ports.items():
            if is_fixed(deployment, replicas, name):
                having[number] += replicas
    for number, replicas in having.items():
        for nodes in dict.fromkeys(allowed(deployment, replica.service) for replica in replicas):
            bound = [it for it in replicas if set(allowed(deployment, it.service)) <= set(nodes)]
            if len(bound) > len(nodes):
                services = ", ".join(dict.fromkeys(it.service for it in bound))
                message = f"{services}: {len(bound)} replicas with port {number} need as many nodes, as others find"
                there = f"them by that number; they may use {len(nodes)}"
                yield Finding("ports", "error", f"{message} {there}", REMEDY)
                break
