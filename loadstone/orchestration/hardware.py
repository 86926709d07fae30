"""The hardware of a virtual machine of ours: what was requested beside what its QEMU and its own kernel have."""

from __future__ import annotations

from functools import partial

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.qemu import monitor
from loadstone.infrastructure.qemu.monitor import GuestHardware
from loadstone.model.deployment import Replica
from loadstone.model.errors import DeploymentError, LoadstoneError
from loadstone.model.guest import Guest
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import InForce, Subject
from loadstone.model.units import format_memory

_KERNEL_TAKES = 0.15
"""The share of its memory that a guest's kernel may keep from its processes, besides a fixed part."""
_KERNEL_KEEPS = 128 * 2**20


def guest_rows(replica: Replica, node: str, guest: Guest, facts: Facts, boot: str) -> list[AuditRow]:
    """Kernel, accelerator, processors, memory and pinning. ``facts`` are the guest's, ``boot`` is this machine's."""
    row = partial(AuditRow, replica=replica.name, node=node)
    kernel = row(what="kernel", wanted="a guest's", effective="this machine's" if facts.boot == boot else "a guest's")
    try:
        state = monitor.state(guest.monitor)
    except DeploymentError as error:
        return [kernel, row(what="accelerator", wanted=guest.accelerator, effective=error.first_line)]
    try:
        host = this_machine().read(["limits"], {node: Subject(group=guest.group)})[node]
        why = host.absent or "it is in no control group of its own"
    except LoadstoneError as error:
        return [kernel, row(what="limits of QEMU", wanted="in force", effective=error.first_line)]
    if host.limits is None:
        return [kernel, row(what="limits of QEMU", wanted="in force", effective=why)]
    return [kernel, *hardware_rows(replica, node, guest, facts, state, host.limits)]


def hardware_rows(
    replica: Replica, node: str, guest: Guest, facts: Facts, state: GuestHardware, host: InForce
) -> list[AuditRow]:
    """The rows of a guest whose QEMU has answered; ``host``: the limits of QEMU's control group. Pure."""
    row = partial(AuditRow, replica=replica.name, node=node)
    cpus, memory = _both(str(len(state.cores)), str(len(facts.cpus))), _memory(state, facts)
    if host.cpu is not None and host.cpu < guest.cpus:
        cpus += _HELD.format(f"{host.cpu:g}")
    if host.memory is not None and host.memory < guest.memory:
        memory += _HELD.format(format_memory(host.memory))
    return [
        row(what="accelerator", wanted=guest.accelerator, effective=state.accelerator),
        row(what="vcpus", wanted=str(guest.cpus), effective=cpus),
        row(what="vm memory", wanted=format_memory(guest.memory), effective=memory),
        row(what="vm pinning", wanted=_pinned(guest.pinned), effective=_pinning(guest, state)),
    ]


_HELD = " in a control group that is held to {}"


def _both(given: str, seen: str) -> str:
    return given if given == seen else f"{given} of QEMU, of which the guest has {seen}"


def _memory(state: GuestHardware, facts: Facts) -> str:
    least = (1 - _KERNEL_TAKES) * state.memory - _KERNEL_KEEPS
    given = format_memory(state.memory)
    return (
        given if least <= facts.memory <= state.memory else _both(given, format_memory(facts.memory // 2**20 * 2**20))
    )


def _pinned(cores: tuple[int, ...]) -> str:
    return ", ".join(map(str, cores)) or "none"


def _pinning(guest: Guest, state: GuestHardware) -> str:
    if all(cores == guest.host_cpus for cores in state.cores) and not guest.pinned:
        return "none"
    return ", ".join(format_cores(cores) for cores in state.cores)
