"""What chooses the cores' frequency."""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, numbered, shared, words


class Governor(Knob):
    """The governor of each frequency policy; with it changes the preference that drivers of Intel and AMD keep."""

    key = "governor"
    needs = "governors of frequency (cpufreq/policy*/scaling_governor)"

    def files(self, host: Host) -> list[Path]:
        policies = numbered(host.cpu, "cpufreq/policy*")
        names = ("scaling_governor", "energy_performance_preference")  # the second is refused before the first is back
        return answering(host, (policy / name for name in names for policy in policies))

    def offers(self, host: Host) -> str:
        return ", ".join(shared(words(host, file) for file in self._choices(self._governors(host))))

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        governors = self._governors(host)
        for file, choices in zip(governors, self._choices(governors), strict=True):
            if value not in (known := words(host, choices)):
                raise Refused(f"{file}: has no governor {value!r}", f"choose one of: {', '.join(known)}")
        return dict.fromkeys(governors, value)

    def _governors(self, host: Host) -> list[Path]:
        return [file for file in self.files(host) if file.name == "scaling_governor"]

    @staticmethod
    def _choices(governors: list[Path]) -> list[Path]:
        return [file.with_name("scaling_available_governors") for file in governors]
