"""What of a host disturbs a measurement, whatever is measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.tuning.base import Host, numbered
from loadstone.infrastructure.tuning.idle import CStates
from loadstone.infrastructure.tuning.memory import HugePages, Swap
from loadstone.infrastructure.tuning.processors import Smt, Turbo


def disturbances(host: Host, settled: frozenset[str] = frozenset()) -> list[Finding]:
    """Warnings, each with what to do; not of knobs that the study sets anyway (``settled``)."""
    return [
        Finding(what, "warning", message, remedy) for what, knob, message, remedy in _all(host) if knob not in settled
    ]


def _all(host: Host) -> Iterator[tuple[str, str, str, str]]:
    governors = {host.read(file) for file in host.cpu.glob("cpufreq/policy*/scaling_governor")} - {None, "performance"}
    if governors:
        others = ", ".join(sorted(map(str, governors)))
        message = f"the governor is {others}: cores slow down between requests"
        yield "governor", "governor", message, _set("governor: performance")
    if Turbo().is_on(host):
        yield (
            "turbo",
            "turbo",
            "is on: speed depends on how warm the machine and how busy its cores are",
            _set("turbo: off"),
        )
    if Smt().is_on(host):
        message = "two threads share each core: the load of one slows down the other"
        yield "hardware threads", "smt", message, _set("smt: off")
    if "always" in {HugePages().read(host, file) for file in HugePages().files(host)}:
        message = "are always used: the kernel stops programs to make some, and stores need more memory"
        yield "huge pages", "thp", message, _set("thp: madvise")
    if Swap().files(host):
        message = "is on: what is swapped out answers a thousand times slower"
        yield "swap", "swap", message, _set("swap: off")
    if "irqbalance" in _programs(host):
        message = "runs: it moves interrupts between cores during a trial"
        yield (
            "irqbalance",
            "",
            message,
            "systemctl stop irqbalance, then tuning: {irqs: [0]} keeps interrupts on core 0",
        )
    if (taken := _stolen(host)) is not None:
        message = f"its processors are shared with others, who took {taken:.1%} of their time since it started (steal)"
        yield "virtual machine", "", message, "take bare metal, or dedicated cores, for results that count"
    if missing := ", ".join(_missing(host)):
        yield "counters", "", f"this machine does not show {missing}: results will lack them", "take bare metal"


def _set(knob: str) -> str:
    return f"a study can set it, and undoes it: tuning: {{{knob}}}"


def _programs(host: Host) -> set[str | None]:
    return {host.read(file) for file in host.proc.glob("[0-9]*/comm")}


def _stolen(host: Host) -> float | None:
    """The share of time that a virtual machine's processors wanted to run and did not; None of a real machine."""
    if not re.search(r"^flags.*\bhypervisor\b", host.read(host.proc / "cpuinfo") or "", re.MULTILINE):
        return None
    # proc(5): user nice system idle iowait irq softirq steal; what comes after is part of the first two.
    ticks = [int(number) for number in (host.read(host.proc / "stat") or "").split()[1:9]]
    return ticks[7] / max(1, sum(ticks)) if len(ticks) == 8 else 0.0


def _missing(host: Host) -> Iterator[str]:
    if not CStates().files(host):
        yield "C-states (cpuidle)"
    power = ("class/powercap/*rapl*", "bus/event_source/devices/power/events/energy-*")
    if not any(numbered(host.sys, pattern) for pattern in power):
        yield "power (powercap or perf)"
    if not numbered(host.cpu, "cpufreq/policy*"):
        yield "frequencies (cpufreq)"
