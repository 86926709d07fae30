"""This machine, as the client of a cluster."""

from __future__ import annotations

import os

import psutil

from loadstone.model.cluster import Node

LOOPBACK = "127.0.0.1"


def client(shared: bool) -> Node:
    """The node that loads come from, with all cores that we may use; ``shared``: replicas run on them too."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    memory = psutil.virtual_memory().available // 2**20 * 2**20
    return Node(name="client", role="client", address=LOOPBACK, cpus=cores, memory=memory, shared=shared)
