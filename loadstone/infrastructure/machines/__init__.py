"""Machines, and the ways to them: one channel a machine and process of ours, opened when it is needed."""

from __future__ import annotations

import threading

from loadstone.infrastructure.machines.base import Completed, Machine
from loadstone.infrastructure.machines.emulated import Emulated
from loadstone.infrastructure.machines.faults import MachineLost, NodeError
from loadstone.infrastructure.machines.here import Here
from loadstone.infrastructure.machines.ssh import Ssh
from loadstone.infrastructure.machines.transport import Transport
from loadstone.model.cluster import Reach

__all__ = ["Completed", "Machine", "MachineLost", "NodeError", "Transport", "close_all", "connect", "transport"]

_TRANSPORTS: dict[str, type[Transport]] = {"here": Here, "emulated": Emulated, "ssh": Ssh}
_machines: dict[str, Machine] = {}
_lock = threading.Lock()


def transport(reach: Reach) -> Transport:
    """The way to a machine."""
    return _TRANSPORTS[reach.transport](**reach.options)


def connect(name: str, reach: Reach) -> Machine:
    """The machine that is reached so, the same to all who ask; ``name`` is what it is called at first."""
    with _lock:
        return _machines.setdefault(reach.model_dump_json(), Machine(name, transport(reach)))


def close_all() -> None:
    """End the channels of this process."""
    with _lock:
        machines = list(_machines.values())
        _machines.clear()
    for machine in machines:
        machine.close()
