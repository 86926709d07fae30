"""What of a machine disturbs a measurement, whatever is measured."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.infrastructure.base import Finding
from loadstone.model.records.node.tuning import Conditions

_COUNTERS = {
    "cstates": "C-states (cpuidle)",
    "power": "power (powercap or perf)",
    "frequencies": "frequencies (cpufreq)",
}


def disturbances(found: Conditions, settled: frozenset[str] = frozenset()) -> list[Finding]:
    """Warnings, each with what to do; not of knobs that the study sets anyway (``settled``)."""
    of_knobs = [
        Finding(what, "warning", message, f"a study can set it, and undoes it: tuning: {{{knob}: {value}}}")
        for what, knob, value, message in _knobs(found)
        if knob not in settled
    ]
    return [*of_knobs, *(Finding(what, "warning", message, remedy) for what, message, remedy in _others(found))]


def _knobs(found: Conditions) -> Iterator[tuple[str, str, str, str]]:
    """What it is called, the knob and the value that help, and why."""
    if others := sorted(set(found.governors) - {"performance"}):
        message = f"the governor is {', '.join(others)}: cores slow down between requests"
        yield "governor", "governor", "performance", message
    if found.turbo:
        message = "is on: speed depends on how warm the machine and how busy its cores are"
        yield "turbo", "turbo", "off", message
    if found.hardware_threads:
        message = "two threads share each core: the load of one slows down the other"
        yield "hardware threads", "smt", "off", message
    if found.huge_pages == "always":
        message = "are always used: the kernel stops programs to make some, and stores need more memory"
        yield "huge pages", "thp", "madvise", message
    if found.swap:
        yield "swap", "swap", "off", "is on: what is swapped out answers a thousand times slower"


def _others(found: Conditions) -> Iterator[tuple[str, str, str]]:
    if found.irqbalance:
        remedy = "systemctl stop irqbalance, then tuning: {irqs: [0]} keeps interrupts on core 0"
        yield "irqbalance", "runs: it moves interrupts between cores during a trial", remedy
    if found.stolen is not None:
        message = f"other machines took {found.stolen:.1%} of its processors' time since it started (steal)"
        yield "virtual machine", message, "take bare metal, or dedicated cores, for results that count"
    if missing := ", ".join(_COUNTERS[counter] for counter in found.missing):
        yield "counters", f"this machine does not show {missing}: results will lack them", "take bare metal"
