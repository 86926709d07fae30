"""An emulated host of this machine, entered by ``nsenter``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.machines.transport import Transport
from loadstone.infrastructure.namespaces.host import Host


class EmulatedTransport(Transport):
    """The host's data as strings, as ``Host`` has it; files of this machine are files there, but for a few folders."""

    def __init__(self, folder: str, **host: str) -> None:
        self._host = Host(folder=Path(folder), **host)

    def command(self, argv: Sequence[str]) -> list[str]:
        return self._host.command(argv)

    def deliver(self, program: Path) -> str:
        return str(program)

    def node_options(self) -> list[str]:
        return ["--state", str(self._host.folder / "node"), "--group", self._host.containers]
