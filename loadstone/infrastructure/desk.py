"""This machine as a node: where load is made if no other is a client, and spans are received."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Sequence

from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Node
from loadstone.model.errors import InputError

LOOPBACK = "127.0.0.1"


def client(shared: bool = False, address: str = LOOPBACK) -> Node:
    """The node that load comes from, with all cores that we may use; ``shared``: replicas run on them too."""
    facts = this_machine().facts()
    memory = facts.memory_available // 2**20 * 2**20
    return Node(name="client", role="client", address=address, cpus=facts.cpus, memory=memory, shared=shared)


def user() -> str:
    """Who we are: by name, or by number where this machine has no name for it, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())


def address_towards(other: str) -> str:
    """The address from which this machine reaches another one. Raises InputError where it has no route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((other, 9))
        except OSError as error:
            raise InputError(f"this machine has no route to {other}: {error.strerror}") from None
        return str(probe.getsockname()[0])


def of(nodes: Sequence[Node]) -> Node | None:
    """This machine beside a cluster, whether it is the client or others are; None without clients."""
    clients = [each for each in nodes if each.role == "client"]
    if not clients or clients[0].reach.local:
        return clients[0] if clients else None
    worker = next(each for each in nodes if each.role == "worker")
    return client(address=address_towards(worker.address)).model_copy(update={"name": "desk"})
