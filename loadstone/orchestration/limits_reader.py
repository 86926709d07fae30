"""Reads limits and usage of each replica's container from the kernel of its node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from loadstone.infrastructure.machines import Machine, connect, in_parallel
from loadstone.infrastructure.machines.base import ReplicaPart
from loadstone.model.cluster import Node, Role
from loadstone.model.deployment import FoundReplica
from loadstone.model.errors import LoadstoneError
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import Standing, Subject


class Reader:
    """Through ``stone node``: one request to each machine, on which several nodes may be."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}

    def read(
        self,
        found: Sequence[FoundReplica],
        what: Sequence[ReplicaPart] = ("limits", "usage"),
        folders: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, Standing]:
        """What the kernel has of each, by the replica's name; raises nothing. ``folders``: of those that keep files."""
        standings = {replica.name: Standing.nothing(why) for replica in found if (why := self._why_nowhere(replica))}
        for answer in in_parallel(partial(_read, what), self._by_machine(found, folders)):
            standings |= answer
        return standings

    def facts(self, found: Sequence[FoundReplica]) -> dict[str, Facts]:
        """Facts of the machines that these are on, by node; without those that do not answer."""
        nodes = [self._nodes[name] for name in dict.fromkeys(replica.node for replica in found) if name in self._nodes]
        facts = zip(nodes, in_parallel(_facts, nodes), strict=True)
        return {node.name: known for node, known in facts if known is not None}

    def new_peaks(self, found: Sequence[FoundReplica]) -> bool:
        """Begin a new memory peak of each; whether all could."""
        known = bool(found) and all(replica.node in self._nodes for replica in found)
        return known and all(in_parallel(_new_peaks, self._by_machine(found)))

    def unreachable(self, role: Role) -> dict[str, str]:
        """The nodes of a role on other machines that do not answer now, with the reason."""
        nodes = [node for node in self._nodes.values() if node.role == role and not node.reach.local]
        reasons = zip(nodes, in_parallel(_why_unreachable, nodes), strict=True)
        return {node.name: why for node, why in reasons if why}

    def _why_nowhere(self, replica: FoundReplica) -> str:
        if replica.node not in self._nodes:
            return f"it is on {replica.node!r}, no node of this cluster" if replica.node else "it has no node"
        return "" if replica.container else "it has no container"

    def _by_machine(
        self, found: Sequence[FoundReplica], folders: Mapping[str, str] = MappingProxyType({})
    ) -> list[tuple[Machine, dict[str, Subject]]]:
        subjects: dict[Machine, dict[str, Subject]] = defaultdict(dict)
        for replica in found:
            if not self._why_nowhere(replica):
                subject = Subject(container=replica.container, folder=folders.get(replica.name, ""))
                node = self._nodes[replica.node]
                subjects[connect(node.name, node.reach)][replica.name] = subject
        return list(subjects.items())


def _facts(node: Node) -> Facts | None:
    try:
        return connect(node.name, node.reach).facts()
    except LoadstoneError:
        return None


def _read(what: Sequence[ReplicaPart], wanted: tuple[Machine, dict[str, Subject]]) -> dict[str, Standing]:
    machine, subjects = wanted
    try:
        return machine.read(what, subjects)
    except LoadstoneError as error:
        return dict.fromkeys(subjects, Standing.nothing(error.first_line))


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
        return error.first_line
    return ""
