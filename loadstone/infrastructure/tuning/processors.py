"""Turbo and hardware threads: switches of the whole processor."""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, numbered


class Turbo(Knob):
    """Under one of three names: intel_pstate has it the other way round, others have it for all, or by policy."""

    key = "turbo"
    needs = "switch of turbo (intel_pstate/no_turbo, cpufreq/boost)"
    disturbs = ("frequency",)  # some drivers set the highest frequency anew

    def files(self, host: Host) -> list[Path]:
        whole = answering(host, [host.cpu / "intel_pstate/no_turbo", host.cpu / "cpufreq/boost"])
        return whole[:1] or answering(host, numbered(host.cpu, "cpufreq/policy*/boost"))

    def offers(self, host: Host) -> str:
        return "on, off"

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        return {file: str(int((value == "on") != (file.name == "no_turbo"))) for file in self.files(host)}

    def is_on(self, host: Host) -> bool | None:
        """Whether it is on now; None where that cannot be told."""
        files = self.files(host)
        return any(host.read(file) == self.wanted(host, "on")[file] for file in files) if files else None


class Smt(Knob):
    """A core as two hardware threads. Without it the second ones are off: what belongs to them vanishes or is silent,
    and comes back as the kernel likes it."""

    key = "smt"
    needs = "switch of hardware threads (smt/control)"
    disturbs = ("turbo", "governor", "frequency", "cstates", "irqs")

    def file(self, host: Host) -> Path:
        """The switch."""
        return host.cpu / "smt/control"

    def files(self, host: Host) -> list[Path]:
        return answering(host, [self.file(host)])

    def offers(self, host: Host) -> str:
        return "on, off" if self._can_switch(host) else "on" if self.is_on(host) else "off"

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        file = self.file(host)
        if self._can_switch(host):
            return {file: value}
        if (value == "on") != self.is_on(host):
            raise Refused(
                f"{file}: hardware threads cannot be turned {value} here, it says {host.read(file)}",
                f"leave tuning.smt out, or set it in the firmware; now they are {'on' if self.is_on(host) else 'off'}",
            )
        return {}  # it is what was asked for, and can be nothing else

    def _can_switch(self, host: Host) -> bool:
        return host.read(self.file(host)) in ("on", "off")  # else: forceoff, notsupported, notimplemented

    def is_on(self, host: Host) -> bool:
        """Whether two threads of one core are on now."""
        return host.read(host.cpu / "smt/active") == "1"
