"""Reads the limits and the placement that are really in force for a process back from the kernel."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import psutil

from loadstone.infrastructure.cgroup import CgroupError, Cgroups, Usage
from loadstone.infrastructure.cgroup.base import PERIOD_US
from loadstone.infrastructure.cores import format_cores, parse_cores
from loadstone.model.deployment import AuditRow, Deployment
from loadstone.model.units import format_memory
from loadstone.orchestration import running
from loadstone.orchestration.commands import Command

_PAGE = 4096


def audit_process(
    command: Command,
    deployment: Deployment,
    identity: running.Identity | None,
    groups: Cgroups,
    waived: str,
) -> list[AuditRow]:
    """Four rows a replica: CPU, memory, cores, node. ``waived`` says why limits were not applied, if so.

    What is wanted is put as the kernel counts it: CPU in hundred-thousandths, memory in whole pages.
    """
    replica = command.replica

    def row(what: str, wanted: str, effective: str, waived: str = "") -> AuditRow:
        return AuditRow(
            replica=replica.name, node=replica.node, what=what, wanted=wanted, effective=effective, waived=waived
        )

    if identity is None or not running.is_alive(identity):
        return [row("process", "running", "not running")]
    try:
        limits = groups.effective(identity.pid)
        cores = _allowed_cores(identity.pid)
    except (CgroupError, OSError):  # it ended while we looked
        return [row("process", "running", "not running")]
    wanted = command.limits
    wanted_memory = wanted.memory // _PAGE * _PAGE if wanted.memory is not None else None
    wanted_cpu = round(wanted.cpu * PERIOD_US) / PERIOD_US if wanted.cpu is not None else None
    difference = waived if wanted.cpu is not None or wanted.memory is not None else ""
    return [
        row("cpu", _cpu(wanted_cpu), _cpu(limits.cpu), difference),
        row("memory", _memory(wanted_memory), _memory(limits.memory), difference),
        row("cores", format_cores(wanted.cores or ()), format_cores(cores)),
        row("node", replica.node, _node(deployment, replica.node, cores)),
    ]


def _cpu(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"


def _memory(limit: int | None) -> str:
    return "unlimited" if limit is None else format_memory(limit)


def _allowed_cores(pid: int) -> tuple[int, ...]:
    """Where the scheduler may run it: its cpuset and its affinity together (proc(5), Cpus_allowed_list)."""
    match = re.search(r"^Cpus_allowed_list:\s*(\S*)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return parse_cores(match.group(1)) if match else ()


def _node(deployment: Deployment, wanted: str, cores: tuple[int, ...]) -> str:
    """The node whose cores hold all of ``cores``, the wanted one if several do; 'none' if no node does."""
    nodes = [deployment.node(wanted), *(node for node in deployment.nodes if node.name != wanted)]
    return next((node.name for node in nodes if set(cores) <= set(node.cpus)), "none")


def usage_from_proc(pid: int) -> Usage:
    """What a process and its children have used, where no control group counts: no throttling, no kills.

    Memory is the sum of what each process has resident, so pages that they share count more than once.
    """
    cpu_s, memory, peak, pids = 0.0, 0, 0, 0
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess, OSError):
                times = process.cpu_times()
                cpu_s += times.user + times.system + times.children_user + times.children_system
                memory += process.memory_info().rss
                match = re.search(r"^VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
                peak += int(match.group(1)) * 1024 if match else 0
                pids += 1
    return Usage(cpu_s, None, None, None, memory, peak, None, pids)
