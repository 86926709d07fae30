"""Bounds of frequencies: of cores, and of what lies between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, numbered, words
from loadstone.model.tuning import Bounds
from loadstone.model.units import format_frequency


class Ranges(Knob):
    """A lowest and a highest frequency in kHz in each of several folders, which have limits of their own."""

    names: ClassVar[tuple[str, str]]
    limits: ClassVar[tuple[str, str]]

    @abstractmethod
    def folders(self, host: Host) -> list[Path]:
        """Where the bounds lie."""

    def files(self, host: Host) -> list[Path]:
        return answering(host, (folder / name for folder in self.folders(host) for name in self.names))

    def offers(self, host: Host) -> str:
        ranges = [self._limits(host, folder) for folder in self._answering(host)]
        known = [(low, high) for low, high in ranges if low is not None and high is not None]
        if not known:
            return "a range"
        low, high = max(low for low, _ in known), min(high for _, high in known)
        return f"{_shown(low)} to {_shown(high)}"

    def wanted(self, host: Host, value: Bounds) -> dict[Path, str]:
        ends = {name: end // 1000 for name, end in zip(self.names, (value.min, value.max), strict=True) if end}
        for folder in self._answering(host):
            for name, end in ends.items():
                self._refuse_outside(host, folder / name, end)
        return {folder / name: str(end) for folder in self._answering(host) for name, end in ends.items()}

    def _refuse_outside(self, host: Host, file: Path, end: int) -> None:
        low, high = self._limits(host, file.parent)
        if (low is not None and end < low) or (high is not None and end > high):
            raise Refused(
                f"{file}: {_shown(end)} is out of range", f"choose between {_shown(low or 0)} and {_shown(high or 0)}"
            )
        steps = [
            step
            for kind in ("available", "boost")
            for step in words(host, file.with_name(f"scaling_{kind}_frequencies"))
        ]
        if steps and str(end) not in steps:
            known = ", ".join(_shown(int(step)) for step in steps)
            raise Refused(f"{file}: {_shown(end)} is between two steps of this processor", f"choose one of: {known}")

    def order(self, host: Host, values: Mapping[Path, str]) -> Iterable[Path]:
        """The highest first, so that it is never below the lowest; the other way round where all goes down."""
        for folder in dict.fromkeys(file.parent for file in values):
            low, high = (folder / name for name in self.names)
            down = int(values.get(high, "0")) < (host.number(low) or 0)
            yield from (file for file in ((low, high) if down else (high, low)) if file in values)

    def _answering(self, host: Host) -> list[Path]:
        return list(dict.fromkeys(file.parent for file in self.files(host)))

    def _limits(self, host: Host, folder: Path) -> tuple[int | None, int | None]:
        low, high = (host.number(folder / name) for name in self.limits)
        return low, high


class Frequency(Ranges):
    """Of the cores, by frequency policy."""

    key = "frequency"
    needs = "bounds of frequency (cpufreq/policy*/scaling_min_freq)"
    names = ("scaling_min_freq", "scaling_max_freq")
    limits = ("cpuinfo_min_freq", "cpuinfo_max_freq")

    def folders(self, host: Host) -> list[Path]:
        return numbered(host.cpu, "cpufreq/policy*")


class Uncore(Ranges):
    """Of caches and memory controllers, by package and die; the driver is Intel's."""

    key = "uncore"
    needs = "driver intel_uncore_frequency (on Intel's servers `modprobe intel_uncore_frequency` loads it)"
    names = ("min_freq_khz", "max_freq_khz")
    limits = ("initial_min_freq_khz", "initial_max_freq_khz")

    def folders(self, host: Host) -> list[Path]:
        return numbered(host.cpu, "intel_uncore_frequency/*")


def _shown(kilohertz: int) -> str:
    return format_frequency(kilohertz * 1000)
