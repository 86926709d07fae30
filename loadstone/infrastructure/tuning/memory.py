"""Swap, huge pages, and moving memory between nodes."""

from __future__ import annotations

import re
from pathlib import Path

from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, words


class Swap(Knob):
    """Devices and files in ``/proc/swaps``. Each has a name below that file which only says which one is meant."""

    key = "swap"
    needs = "swap in its kernel (/proc/swaps)"

    def lacking(self, host: Host) -> bool:
        return host.read(self._table(host)) is None

    def files(self, host: Host) -> list[Path]:
        return [self._table(host) / device.lstrip("/") for device in self._in_use(host)]

    def offers(self, host: Host) -> str:
        return "on, off"

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        files = self.files(host)
        if value == "on" and not files:
            raise Refused(f"{self._table(host)}: no swap is on", "turn some on (swapon), or leave tuning.swap out")
        return {file: "off" if value == "off" else self.read(host, file) for file in files}

    def read(self, host: Host, file: Path) -> str:
        """``on 5`` with the priority that somebody gave it, ``on`` with one of the kernel's (negative), or ``off``."""
        priority = self._in_use(host).get(self._device(host, file))
        return "off" if priority is None else f"on {priority}" if priority >= 0 else "on"

    def write(self, host: Host, file: Path, text: str) -> None:
        state, _, priority = text.partition(" ")
        host.swap(self._device(host, file), state == "on", int(priority or -1))

    def may_write(self, host: Host, file: Path) -> bool:
        return host.root

    def _in_use(self, host: Host) -> dict[str, int]:
        """Priority by device; the kernel writes a space in a name as ``\\040``."""
        lines = (host.read(self._table(host)) or "").splitlines()[1:]
        rows = [line.split() for line in lines if line.strip()]
        return {row[0].encode().decode("unicode_escape"): int(row[4]) for row in rows}

    def _device(self, host: Host, file: Path) -> str:
        return f"/{file.relative_to(self._table(host))}"

    @staticmethod
    def _table(host: Host) -> Path:
        return host.proc / "swaps"


class HugePages(Knob):
    """Transparent huge pages."""

    key = "thp"
    needs = "transparent huge pages (/sys/kernel/mm/transparent_hugepage)"

    def files(self, host: Host) -> list[Path]:
        return answering(host, [host.sys / "kernel/mm/transparent_hugepage/enabled"])

    def offers(self, host: Host) -> str:
        return ", ".join(words(host, self.files(host)[0]))

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        file = self.files(host)[0]
        if value not in words(host, file):
            raise Refused(f"{file}: does not know {value!r}", f"choose one of: {self.offers(host)}")
        return {file: value}

    def read(self, host: Host, file: Path) -> str | None:
        """The one in brackets of ``always [madvise] never``."""
        chosen = re.search(r"\[(\w+)\]", host.read(file) or "")
        return chosen[1] if chosen else None


class NumaBalancing(Knob):
    """Memory that moves to the node which uses it."""

    key = "numa_balancing"
    needs = "NUMA balancing (/proc/sys/kernel/numa_balancing)"

    def files(self, host: Host) -> list[Path]:
        return answering(host, [host.proc / "sys/kernel/numa_balancing"])

    def offers(self, host: Host) -> str:
        return "on, off"

    def wanted(self, host: Host, value: str) -> dict[Path, str]:
        return dict.fromkeys(self.files(host), "1" if value == "on" else "0")
