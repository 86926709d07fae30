"""Facts of this host that a result must carry, because they change it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import psutil


def host_facts() -> dict[str, str | int | float]:
    """Kernel, processor, cores, memory, cgroup version, virtualisation, load average."""
    return {
        "system": _os_name(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "cgroup": "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1",
        "virtualised": "yes" if re.search(r"^flags.*\bhypervisor\b", _read("/proc/cpuinfo"), re.MULTILINE) else "no",
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or "absent",
        "load_average_1m": os.getloadavg()[0],
    }


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _cpu_model() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match.group(1) if match else platform.processor() or "unknown"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
