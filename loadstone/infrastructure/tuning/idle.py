"""C-states: how deep an idle processor may sleep."""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, numbered
from loadstone.model.tuning import IdleStates


class CStates(Knob):
    """Each idle state of each processor can be disabled."""

    key = "cstates"
    needs = "idle states (cpu*/cpuidle/state*)"

    def files(self, host: Host) -> list[Path]:
        return answering(host, numbered(host.cpu, "cpu[0-9]*/cpuidle/state*/disable"))

    def offers(self, host: Host) -> str:
        return ", ".join(f"{name} ({latency}us)" for name, latency in self._states(host).items())

    def wanted(self, host: Host, value: IdleStates) -> dict[Path, str]:
        states = self._states(host)
        for name in value.names or []:
            if name not in states:
                raise Refused(
                    f"{host.cpu}: no idle state is called {name!r}",
                    f"choose of: {self.offers(host)}; C0 is no idle state, it is to run",
                )
        limit = (value.latency or 0.0) * 1e6 + 1e-6  # of microseconds that are whole
        allowed = value.names or [name for name, latency in states.items() if latency <= limit]
        return {file: "0" if _name(host, file) in allowed else "1" for file in self.files(host)}

    def _states(self, host: Host) -> dict[str, int]:
        """Exit latency in microseconds by name, in the order of depth; the longest, where processors differ."""
        found: dict[str, int] = {}
        for file in self.files(host):
            latency = host.number(file.with_name("latency")) or 0
            found[_name(host, file)] = max(latency, found.get(_name(host, file), 0))
        return found


def _name(host: Host, file: Path) -> str:
    return host.read(file.with_name("name")) or file.parent.name
