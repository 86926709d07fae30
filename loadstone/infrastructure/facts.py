"""Facts of this host that a result must carry, because they change it."""

from __future__ import annotations

import platform

from loadstone.infrastructure.machines import this_machine


def host_facts() -> dict[str, str | int | float]:
    """Kernel, processor, cores, memory, cgroup version, virtualisation, load average."""
    facts = this_machine().facts()
    return {
        "system": facts.os,
        "kernel": facts.kernel,
        "architecture": platform.machine(),  # by the name that earlier results have
        "cpu": facts.cpu_model,
        "cores": facts.processors,
        "usable_cores": len(facts.cpus),
        "memory_bytes": facts.memory,
        "cgroup": facts.cgroups or "absent",
        "virtualised": "yes" if facts.hypervisor.present else "no",
        "governor": facts.governor or "absent",
        "load_average_1m": facts.load,
    }
