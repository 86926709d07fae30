"""The order in which services in containers are started. Pure."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable

from loadstone.model.deployment import Replica


def start_order(replicas: Iterable[Replica]) -> list[list[str]]:
    """The services in groups, each of which is started once the one before it is ready.

    What passes requests on, and an image of others, may look up the names of what it needs only once, when it starts,
    or end where it does not find them: it starts after them. All else keeps looking, and is in the first group.
    """
    services = {replica.service: replica for replica in replicas}
    needed = {
        name: [need for need in replica.needs if need in services] if replica.in_front or replica.image else []
        for name, replica in services.items()
    }
    level: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(needed).static_order():
        level[name] = max((level[need] + 1 for need in needed[name]), default=0)
    return [[name for name in services if level[name] == number] for number in sorted(set(level.values()))]
