"""The channels to machines during a trial: what is observed, limited and tuned through one ends with it."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.infrastructure.machines import Machine, connect, this_machine
from loadstone.model.cluster import Node


def machines_of(nodes: Iterable[Node]) -> list[Machine]:
    """The machines of nodes, each once. To managers of clusters that were there before, no channel leads."""
    reached = (node for node in nodes if not (node.role == "manager" and node.reach.through_cluster))
    return list(dict.fromkeys(connect(node.name, node.reach) for node in reached))


class Channels:
    """Compares the channels to this machine and to those of nodes with the channels that there were when this was made.

    A channel that ended and was replaced by another counts as lost, too.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        machines = dict.fromkeys([this_machine(), *machines_of(nodes)])
        self._before = {machine: len(machine.losses) for machine in machines}

    def lost(self) -> list[str]:
        """The first loss of each machine since then, as sentences."""
        return [
            f"{machine.losses[before]}: its counters and limits were not observed throughout the trial"
            for machine, before in self._before.items()
            if machine.losses[before:]
        ]
