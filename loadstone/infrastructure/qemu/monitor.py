"""What a guest's QEMU has in force, from its monitor (QMP) and from the kernel that it runs on."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from loadstone.model.errors import DeploymentError
from loadstone.model.guest import Accelerator

_ANSWERS_WITHIN_S = 20.0


@dataclass(frozen=True)
class GuestHardware:
    """A guest's hardware, as QEMU gives it."""

    accelerator: Accelerator
    memory: int
    cores: tuple[tuple[int, ...], ...]
    """For each virtual processor, the cores of the host on which its thread may run."""


def state(socket: str) -> GuestHardware:
    """Raises DeploymentError where QEMU does not answer."""
    kvm, memory, processors = _query(socket, "query-kvm", "query-memory-size-summary", "query-cpus-fast")
    try:
        cores = tuple(tuple(sorted(os.sched_getaffinity(processor["thread-id"]))) for processor in processors)
    except OSError as error:  # it has ended since
        raise DeploymentError(f"the processors of QEMU at {socket} are gone: {error}") from None
    return GuestHardware("kvm" if kvm["enabled"] else "tcg", memory["base-memory"], cores)


def pin(socket: str, cores: tuple[int, ...]) -> None:
    """Keep each virtual processor to a core of its own. Raises DeploymentError."""
    (processors,) = _query(socket, "query-cpus-fast")
    try:
        for processor, core in zip(processors, cores, strict=True):
            os.sched_setaffinity(processor["thread-id"], {core})
    except (OSError, ValueError) as error:
        raise DeploymentError(
            f"{len(processors)} virtual processors cannot be pinned to {len(cores)} cores: {error}",
            "set vm.cpus to the cores of the host at most, or remove vm.pin",
        ) from None


def _query(socket: str, *commands: str) -> list[Any]:
    """The answers to commands of the monitor."""
    from qemu.qmp import QMPClient, QMPError  # where there is a guest

    async def query() -> list[Any]:
        client = QMPClient("loadstone")
        await client.connect(socket)
        try:
            return [await client.execute(command) for command in commands]
        finally:
            await client.disconnect()

    try:
        return asyncio.run(asyncio.wait_for(query(), _ANSWERS_WITHIN_S))
    except (QMPError, OSError, TimeoutError) as error:
        raise DeploymentError(f"QEMU does not answer at {socket}: {error}") from None
