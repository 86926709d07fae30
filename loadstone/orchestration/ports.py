"""The ports of a deployment whose replicas share one address."""

from __future__ import annotations

import socket

from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError

BASE_PORT = 20_000
"""Below the range that Linux hands out to outgoing connections (32768 and up)."""

Ports = dict[str, dict[str, int]]
"""Port numbers by replica and by the port's name."""


def preferred_ports(deployment: Deployment) -> Ports:
    """The ports of a deployment while none is taken: entry and stacks keep their own, others count up from the base."""
    ports: Ports = {}
    number = BASE_PORT
    for replica in deployment.replicas:
        ports[replica.name] = {}
        for name, declared in replica.ports.items():
            entry = replica.service == deployment.entry_service and name == deployment.entry_port
            if replica.stack or (entry and replica.index == 1):
                ports[replica.name][name] = declared
            else:
                ports[replica.name][name] = number
                number += 1
    return ports


def free_ports(deployment: Deployment) -> Ports:
    """The preferred ports, those that are taken now replaced by the next free ones above all of them.

    Raises DeploymentError for those of stacks: where they are is known to others before.
    """
    preferred = preferred_ports(deployment)
    for replica in deployment.replicas:
        for number in replica.ports.values() if replica.stack else ():
            if not is_free(number, deployment.node(replica.node).address):
                taken = f"{replica.service}: port {number} is taken by another program"
                raise DeploymentError(taken, "stop it, or leave the stack out")
    highest = max((number for ports in preferred.values() for number in ports.values()), default=BASE_PORT)
    spare = iter(number for number in range(highest + 1, 65_536) if is_free(number))
    return {
        replica: {name: number if is_free(number) else next(spare) for name, number in ports.items()}
        for replica, ports in preferred.items()
    }


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Whether nobody on this machine listens on a port of an address; of none in particular: on any."""
    with socket.socket() as probe:
        # As servers do: a port whose old connections are only being wound up is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True
