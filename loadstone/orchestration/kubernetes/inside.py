"""A node of Kubernetes as the place from where pods are reached: in its own network, without a published port."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Node
from loadstone.orchestration import agent


class OnNode:
    """A place: the machine itself, or the container in its network that waits there."""

    def __init__(self, node: Node) -> None:
        self._machine = connect(node.name, node.reach)
        self._in_container = node.reach.through_cluster

    @property
    def stone(self) -> str:
        return self._machine.stone

    def command(self, argv: Sequence[str]) -> list[str]:
        return self._machine.command(argv)

    def deliver(self, program: Path) -> str:
        if not self._in_container:
            return self._machine.deliver(program)
        there = f"{agent.SCRATCH}/{program.name}"
        self._machine.put(program, there)
        return there
