"""This machine, over a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machines.transport import Transport
from loadstone.infrastructure.places import data_root


class Here(Transport):
    """The node is a child of ours."""

    def command(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def deliver(self, program: Path) -> str:
        return str(program)

    def node_options(self) -> list[str]:
        return ["--state", str(data_root())]
