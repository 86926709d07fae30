"""Kernels as they show themselves: a server of Intel's, one of AMD's, and a small virtual machine.

Names and words are those of real kernels; the machines are as small as they can be to have all their parts.
"""

from __future__ import annotations

from pathlib import Path

from tests.infrastructure.conftest import tree

Files = dict[str, str]

CPU = "sys/devices/system/cpu"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
NUMA = "proc/sys/kernel/numa_balancing"
BOOT = "proc/sys/kernel/random/boot_id"
UNCORE = f"{CPU}/intel_uncore_frequency"
_STATES = {"intel": {"POLL": 0, "C1": 2, "C1E": 10, "C6": 133}, "amd": {"POLL": 0, "C1": 1, "C2": 400}}
_STATES["vm"] = {"POLL": 0, "haltpoll": 1}


def _common(cores: int, thp: str, flags: str) -> Files:
    return {
        f"{CPU}/online": f"0-{cores - 1}",
        BOOT: "0b5cf6a8-3c5e-4a53-8d8e-3a8a53c0b5a1",
        THP: " ".join(f"[{word}]" if word == thp else word for word in ("always", "madvise", "never")),
        NUMA: "1",
        "proc/cpuinfo": f"processor\t: 0\nflags\t\t: fpu vme {flags}\npower management: ts [13] [14]",
        "proc/stat": "cpu  900 10 60 9000 20 0 5 5 0 0\ncpu0 450 5 30 4500 10 0 3 2 0 0\nintr 1 2 3",
        "proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority",
        "proc/1/comm": "systemd",
    }


def _idle(kind: str, cores: int) -> Files:
    files = {f"{CPU}/cpu{core}/topology/core_id": str(core % 2) for core in range(cores)}
    for core in range(cores):
        for number, (name, latency) in enumerate(_STATES[kind].items()):
            state = f"{CPU}/cpu{core}/cpuidle/state{number}"
            files |= {f"{state}/name": name, f"{state}/latency": str(latency), f"{state}/disable": "0"}
    return files


def _policies(cores: int, policy: Files) -> Files:
    return {f"{CPU}/cpufreq/policy{core}/{name}": text for core in range(cores) for name, text in policy.items()}


def _interrupts(cores: int) -> Files:
    everywhere = f"0-{cores - 1}"
    return {f"proc/irq/{number}/smp_affinity_list": everywhere for number in (0, 9, 24, 25)} | {
        "proc/irq/26/smp_affinity_list": "1",
        "proc/irq/default_smp_affinity": "f",
    }


INTEL_POLICY = {
    "scaling_governor": "powersave",
    "scaling_available_governors": "performance powersave",
    "energy_performance_preference": "balance_power",
    "scaling_min_freq": "1000000",
    "scaling_max_freq": "3000000",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "3000000",
    "base_frequency": "2200000",
}
AMD_POLICY = {
    "scaling_governor": "ondemand",
    "scaling_available_governors": "conservative ondemand userspace powersave performance schedutil",
    "scaling_min_freq": "1500000",
    "scaling_max_freq": "2000000",
    "cpuinfo_min_freq": "1500000",
    "cpuinfo_max_freq": "2800000",
    "scaling_available_frequencies": "2800000 2000000 1500000",
}


def intel(root: Path) -> Path:
    """Two packages of a core with two threads each, intel_pstate, four C-states, uncore, swap, irqbalance."""
    files = _common(4, "always", "constant_tsc") | _idle("intel", 4) | _policies(4, INTEL_POLICY) | _interrupts(4)
    files |= {
        f"{CPU}/intel_pstate/no_turbo": "0",
        f"{CPU}/smt/control": "on",
        f"{CPU}/smt/active": "1",
        "proc/700/comm": "irqbalance",
        "sys/class/powercap/intel-rapl:0/energy_uj": "1",
        "proc/swaps": files["proc/swaps"]
        + "\n/dev/sda2                               partition\t8388604\t\t512\t\t-2"
        + "\n/var/swap\\040file                       file\t\t1048572\t\t0\t\t5",
    }
    for package in (0, 1):
        die = f"{UNCORE}/package_0{package}_die_00"
        files |= {f"{die}/{end}_freq_khz": text for end, text in (("min", "1200000"), ("max", "2400000"))}
        files |= {f"{die}/initial_{end}_freq_khz": text for end, text in (("min", "1200000"), ("max", "2400000"))}
    return _written(root, files)


def amd(root: Path) -> Path:
    """acpi-cpufreq with three steps and boost; no hardware threads to switch, no swap, one package."""
    files = _common(2, "madvise", "constant_tsc") | _idle("amd", 2) | _policies(2, AMD_POLICY) | _interrupts(2)
    files |= {f"{CPU}/cpufreq/boost": "1", f"{CPU}/smt/control": "notsupported", f"{CPU}/smt/active": "0"}
    return _written(root, files)


def vm(root: Path) -> Path:
    """No frequencies, no turbo; of idle states only those that do not leave the guest."""
    files = _common(2, "madvise", "hypervisor") | _idle("vm", 2) | _interrupts(2)
    files |= {
        f"{CPU}/smt/control": "notsupported",
        f"{CPU}/smt/active": "0",
        "proc/stat": "cpu  60 0 20 10 0 0 0 10 0 0",
    }
    return _written(root, files)


def contents(root: Path) -> dict[str, bytes]:
    """Every file below, byte for byte."""
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def _written(root: Path, files: Files) -> Path:
    tree(root, {name: f"{text}\n" for name, text in files.items()})
    return root
