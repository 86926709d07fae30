"""The hardware of a virtual machine of ours: what was requested beside what its QEMU and its own kernel have."""

from __future__ import annotations

from functools import partial

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.qemu import monitor
from loadstone.infrastructure.qemu.monitor import GuestHardware
from loadstone.model.deployment import Replica
from loadstone.model.errors import DeploymentError
from loadstone.model.guest import Guest
from loadstone.model.records import AuditRow
from loadstone.model.records.node import Facts
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
        return [kernel, row(what="accelerator", wanted=guest.accelerator, effective=str(error).partition("\n")[0])]
    return [kernel, *hardware_rows(replica, node, guest, facts, state)]


def hardware_rows(replica: Replica, node: str, guest: Guest, facts: Facts, state: GuestHardware) -> list[AuditRow]:
    """Of a guest whose QEMU has answered. Pure."""
    row = partial(AuditRow, replica=replica.name, node=node)
    return [
        row(what="accelerator", wanted=guest.accelerator, effective=state.accelerator),
        row(what="vcpus", wanted=str(guest.cpus), effective=_both(str(len(state.cores)), str(len(facts.cpus)))),
        row(what="vm memory", wanted=format_memory(guest.memory), effective=_memory(state, facts)),
        row(what="vm pinning", wanted=_pinned(guest.pinned), effective=_pinning(guest, state)),
    ]


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
