"""Which cores interrupts go to."""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure.cores import format_cores, parse_cores
from loadstone.infrastructure.tuning.base import Host, Knob, Refused, answering, numbered


class Interrupts(Knob):
    """The cores of each interrupt. Some are the kernel's to place (timers, the queues of an NVMe disk): those stay."""

    key = "irqs"
    needs = "interrupts that can be moved (/proc/irq/*/smp_affinity_list)"
    yields = True

    def files(self, host: Host) -> list[Path]:
        return answering(host, numbered(host.proc, "irq/[0-9]*/smp_affinity_list"))

    def offers(self, host: Host) -> str:
        return f"cores {host.read(host.cpu / 'online')}"

    def wanted(self, host: Host, value: list[int]) -> dict[Path, str]:
        online = host.read(host.cpu / "online") or ""
        if missing := sorted(set(value) - set(parse_cores(online))):
            raise Refused(f"{host.cpu}: core {format_cores(missing)} is not there, or off", f"choose of: {online}")
        return dict.fromkeys(self.files(host), format_cores(value))
