"""The ports of a deployment whose replicas share one address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING

from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError

if TYPE_CHECKING:
    from loadstone.infrastructure.machines import Machine

BASE_PORT = 20_000
"""Below the range that Linux hands out to outgoing connections (32768 and up)."""

Ports = dict[str, dict[str, int]]
"""Port numbers by replica and by the port's name."""


def preferred_ports(deployment: Deployment) -> Ports:
    """The ports of a deployment while none is taken: entries and stacks keep theirs, others count up from the base."""
    ports: Ports = {}
    number = BASE_PORT
    for replica in deployment.replicas:
        ports[replica.name] = {}
        for name, declared in replica.ports.items():
            if replica.stack or (replica.index == 1 and deployment.enters(replica, name)):
                ports[replica.name][name] = declared
            else:
                ports[replica.name][name] = number
                number += 1
    return ports


def free_ports(deployment: Deployment, machines: Mapping[str, Machine]) -> Ports:
    """The preferred ports, those that are taken on their machine replaced by the next free ones above all of them.

    ``machines`` by node; no other program like this one is given a port until our channel ends. Raises
    DeploymentError for the ports of stacks: where they are is known to others before.
    """
    preferred = preferred_ports(deployment)
    ports: Ports = {name: {} for name in preferred}
    for node, machine in machines.items():
        there = [replica for replica in deployment.replicas if replica.node == node]
        wanted = [(replica, name, number) for replica in there for name, number in preferred[replica.name].items()]
        free = machine.ports(deployment.node(node).address, [number for _, _, number in wanted])
        for (replica, name, number), given in zip(wanted, free, strict=True):
            if replica.stack and given != number:
                taken = f"{replica.service}: port {number} of {node} is taken by another program"
                raise DeploymentError(taken, "stop it, or leave the stack out")
            ports[replica.name][name] = given
    return ports


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Whether no process of this machine listens on a port of an address; of none in particular: on any."""
    with socket.socket() as probe:
        # As servers do: a port whose old connections are only being wound up is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True
