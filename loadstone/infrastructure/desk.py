"""This machine as a node in the network of hosts: where load is made if no host is a client, and spans are received."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from loadstone.model.cluster import Node
from loadstone.model.errors import InputError


def node(towards: str) -> Node:
    """This machine, by the address from which it reaches another one. Raises InputError where it has no route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((towards, 9))
        except OSError as error:
            raise InputError(f"this machine has no route to {towards}: {error.strerror}") from None
        address = probe.getsockname()[0]
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return Node(name="client", role="client", address=address, cpus=cpus, memory=memory)


def of(nodes: Sequence[Node]) -> Node | None:
    """This machine beside a cluster, whether it is the client or others are; None without clients."""
    clients = [each for each in nodes if each.role == "client"]
    if not clients or clients[0].reach.local:
        return clients[0] if clients else None
    worker = next(each for each in nodes if each.role == "worker")
    return node(worker.address).model_copy(update={"name": "desk"})
