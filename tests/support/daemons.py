"""Daemons of tests on emulated hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadstone.infrastructure.machines import connect
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.software.base import Member


class Daemon:
    """A process on a host that outlives us. ``mounts``: shell lines run before it, for bind mounts and the like."""

    def __init__(
        self, host: Host, name: str, argv: Sequence[str], environment: Mapping[str, str] = {}, mounts: str = ""
    ) -> None:
        machine = connect(host.name, host.reach)
        machine.begin(name, "test", "a test")
        self._name = name
        self._member = Member(host.name, "worker", host.address, machine, name)
        self._member.spawn(name, ["sh", "-ec", f'{mounts}\nexec "$@"', name, *argv], environment)

    def log(self) -> str:
        """Its last lines."""
        return self._member.log(self._name)

    def alive(self) -> bool:
        return not self._member.ended()

    def end(self) -> None:
        self._member.machine.end(self._name)

    def awaits(self, text: str) -> None:
        """Until it has written something."""
        while text not in self.log():
            assert self.alive() or text in self.log(), self.log()
