"""Reads the limits and the placement that are really in force for a process back from the kernel."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil

from loadstone.infrastructure.cgroup import CgroupError, Cgroups, Limits, Usage
from loadstone.infrastructure.cgroup.base import PERIOD_US
from loadstone.infrastructure.cores import format_cores
from loadstone.model.deployment import Deployment, Found, Replica
from loadstone.model.records import AuditRow
from loadstone.model.units import format_memory
from loadstone.orchestration import running
from loadstone.orchestration.commands import Command
from loadstone.orchestration.reading import Reading, allowed_cores

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
    row = partial(AuditRow, replica=replica.name, node=replica.node)
    if identity is None or not running.is_alive(identity):
        return [row(what="process", wanted="running", effective="not running")]
    try:
        limits = groups.effective(identity.pid)
        cores = allowed_cores(identity.pid)
    except (CgroupError, OSError):  # it ended while we looked
        return [row(what="process", wanted="running", effective="not running")]
    rows = limit_rows(replica, replica.node, command.limits, replace(limits, cores=cores), waived)
    return [*rows, row(what="node", wanted=replica.node, effective=_node(deployment, replica.node, cores))]


def audit_container(found: Found, replica: Replica, deployment: Deployment, reading: Reading) -> list[AuditRow]:
    """Rows of a replica in a container: CPU, memory, cores and node. What nobody could read is a mismatch."""
    row = partial(AuditRow, replica=replica.name, node=found.node or "none")
    if reading.limits is None:
        why = "; ".join(filter(None, (found.why, reading.why))) or "it cannot be read"
        return [row(what="container", wanted="running", effective=why)]
    node = next((node for node in deployment.nodes if node.name == found.node), None)
    wanted = Limits(replica.resources.cpu, replica.resources.memory, node.cpus if node is not None else ())
    allowed = deployment.allowed.get(replica.service) or [
        node.name for node in deployment.nodes if node.role == "worker"
    ]
    on = found.node if found.node in allowed else " or ".join(allowed)
    effective = reading.limits
    if wanted.memory is None and node is not None and (effective.memory or 0) >= node.memory:
        effective = replace(effective, memory=None)  # a kubelet limits all pods together to what its node has
    return [*limit_rows(replica, found.node, wanted, effective), row(what="node", wanted=on, effective=found.node)]


def limit_rows(replica: Replica, node: str, wanted: Limits, effective: Limits, waived: str = "") -> list[AuditRow]:
    """CPU, memory and cores: wanted beside effective, as the kernel counts them."""
    row = partial(AuditRow, replica=replica.name, node=node)
    wanted_memory = wanted.memory // _PAGE * _PAGE if wanted.memory is not None else None
    wanted_cpu = round(wanted.cpu * PERIOD_US) / PERIOD_US if wanted.cpu is not None else None
    difference = waived if wanted.cpu is not None or wanted.memory is not None else ""
    cores = format_cores(wanted.cores or ())
    return [
        row(what="cpu", wanted=_cpu(wanted_cpu), effective=_cpu(effective.cpu), waived=difference),
        row(what="memory", wanted=_memory(wanted_memory), effective=_memory(effective.memory), waived=difference),
        row(what="cores", wanted=cores, effective=format_cores(effective.cores or ())),
    ]


def _cpu(limit: float | None) -> str:
    return "unlimited" if limit is None else f"{limit:g}"


def _memory(limit: int | None) -> str:
    return "unlimited" if limit is None else format_memory(limit)


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
