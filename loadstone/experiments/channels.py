"""The channels to machines during a trial: what is observed, limited and tuned through one ends with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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

    def __init__(self, nodes: Sequence[Node]) -> None:
        needed = [this_machine(), *machines_of(node for node in nodes if node.role != "manager")]
        self._needed = {machine: len(machine.losses) for machine in needed}
        managers = (machine for machine in machines_of(nodes) if machine not in self._needed)
        self._managers = {machine: len(machine.losses) for machine in managers}

    def lost(self) -> list[str]:
        """The first loss since then of each machine that runs replicas or generates load, as sentences."""
        return [
            f"{loss}: its counters and limits were not observed throughout the trial" for loss in _first(self._needed)
        ]

    def managers_lost(self) -> list[str]:
        """The same of machines that only manage: highly available clusters do without one, and it runs no replica."""
        return [f"{loss}: its counters were not observed throughout the trial" for loss in _first(self._managers)]


def _first(before: Mapping[Machine, int]) -> list[str]:
    return [machine.losses[count] for machine, count in before.items() if machine.losses[count:]]
