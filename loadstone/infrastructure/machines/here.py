"""This machine, over a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machines import orphans
from loadstone.infrastructure.machines.transport import Transport
from loadstone.infrastructure.paths import data_root


class Here(Transport):
    """The node is a child of ours; ``state`` is its folder, ``data_root()`` where it is empty."""

    def __init__(self, state: str = "") -> None:
        self._state = state

    def command(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def deliver(self, program: Path) -> str:
        return str(program)

    def node_options(self) -> list[str]:
        return ["--state", self._folder]

    def settle(self) -> None:
        orphans.wait(self._folder)

    @property
    def _folder(self) -> str:
        return self._state or str(data_root())
