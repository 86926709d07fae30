"""What machines lack for software, from its declarations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadstone.infrastructure import builds
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.infrastructure.software.base import Software
from loadstone.model.units import format_memory

_MIB = 2**20
Missing = dict[str, dict[str, str]]
"""By machine, the distribution's package by program."""


def missing_tools(software: Software, machines: Sequence[Machine]) -> Missing:
    """The programs that machines lack; machines that lack none are left out."""

    def missing(machine: Machine) -> dict[str, str]:
        there = machine.facts(list(software.tools)).tools
        return {program: package for program, package in software.tools.items() if program not in there}

    found = dict(zip((machine.name for machine in machines), in_parallel(missing, machines), strict=True))
    return {name: tools for name, tools in found.items() if tools}


def findings(
    software: Software, machines: Sequence[Machine], remedy: Callable[[str, str], str], install: bool = False
) -> list[Finding]:
    """Tools, binaries and the kernel; ``remedy`` is how a machine gets a package, both by name.

    ``install``: missing packages of the distribution will be installed.
    """
    missing = missing_tools(software, machines)
    if install:
        packages = {name: ", ".join(sorted(set(tools.values()))) for name, tools in missing.items()}
        found = [Finding(name, "warning", f"{these} will be installed") for name, these in packages.items()]
    else:
        found = [
            Finding(program, "error", f"{machine}: {program} is not installed", remedy(machine, package))
            for machine, tools in missing.items()
            for program, package in tools.items()
        ]
    found += [builds.missing(name) for name in software.builds]
    # What the kernel can is tried by those tools.
    return found + software.preflight([machine for machine in machines if machine.name not in missing])


def memory(software: Software, managers: int, workers: int, available: int, whose: str) -> Finding:
    """Whether what runs before any replica does fits into what is free; ``whose``: ``5 emulated hosts need``."""
    need = (managers * software.manager_mib + workers * software.worker_mib) * _MIB
    message = f"{whose} about {format_memory(need)}, {format_memory(available // _MIB * _MIB)} is available"
    if need > available:
        return Finding("memory", "error", message, "set fewer cluster.workers or managers, or close programs")
    return Finding("memory", "ok", message)
