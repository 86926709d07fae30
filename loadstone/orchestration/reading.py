"""Reads limits and usage of each replica's container from the kernel of its node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from loadstone.infrastructure.machines import Machine, connect, in_parallel
from loadstone.model.cluster import Node
from loadstone.model.deployment import Found
from loadstone.model.errors import LoadstoneError
from loadstone.model.records.node import Standing, Subject


class Reader:
    """Through ``stone node``: one request to each machine, on which several nodes may be."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}

    def read(self, found: Sequence[Found]) -> dict[str, Standing]:
        """Limits and usage of each, by the replica's name; raises nothing."""
        standings = {found.name: Standing.nothing(why) for found in found if (why := self._why_nowhere(found))}
        for answer in in_parallel(_read, self._by_machine(found)):
            standings |= answer
        return standings

    def new_peaks(self, found: Sequence[Found]) -> bool:
        """Begin a new memory peak of each; whether all could."""
        known = bool(found) and all(replica.node in self._nodes for replica in found)
        return known and all(in_parallel(_new_peaks, self._by_machine(found)))

    def unreachable(self) -> dict[str, str]:
        """The workers on other machines that cannot be read now, with the reason."""
        workers = [node for node in self._nodes.values() if node.role == "worker" and not node.reach.local]
        reasons = zip(workers, in_parallel(_why_unreachable, workers), strict=True)
        return {node.name: why for node, why in reasons if why}

    def _why_nowhere(self, replica: Found) -> str:
        if replica.node not in self._nodes:
            return f"it is on {replica.node!r}, no node of this cluster" if replica.node else "it has no node"
        return "" if replica.container else "it has no container"

    def _by_machine(self, found: Sequence[Found]) -> list[tuple[Machine, dict[str, Subject]]]:
        subjects: dict[Machine, dict[str, Subject]] = defaultdict(dict)
        for replica in found:
            if not self._why_nowhere(replica):
                node = self._nodes[replica.node]
                subjects[connect(node.name, node.reach)][replica.name] = Subject(container=replica.container)
        return list(subjects.items())


def _read(wanted: tuple[Machine, dict[str, Subject]]) -> dict[str, Standing]:
    machine, subjects = wanted
    try:
        return machine.read(["limits", "usage"], subjects)
    except LoadstoneError as error:
        return dict.fromkeys(subjects, Standing.nothing(str(error).partition("\n")[0]))


def _new_peaks(wanted: tuple[Machine, dict[str, Subject]]) -> bool:
    machine, subjects = wanted
    try:
        return machine.new_peaks(subjects)
    except LoadstoneError:
        return False


def _why_unreachable(node: Node) -> str:
    try:
        connect(node.name, node.reach).clock()
    except LoadstoneError as error:
        return str(error).partition("\n")[0]
    return ""
