"""Machines, and the ways to them: one channel a machine and process of ours, opened when it is needed."""

from __future__ import annotations

import atexit
import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loadstone import plugins
from loadstone.infrastructure.machines.faults import MachineLost, NodeError
from loadstone.infrastructure.machines.parallel import in_parallel
from loadstone.infrastructure.machines.transport import Transport
from loadstone.model.cluster import Reach

if TYPE_CHECKING:
    from loadstone.infrastructure.machines.base import Completed, Machine
    from loadstone.infrastructure.machines.watch import Watch

__all__ = [
    "Completed",
    "Machine",
    "MachineLost",
    "NodeError",
    "Transport",
    "Watch",
    "close_all",
    "connect",
    "in_parallel",
    "this_machine",
    "transport",
]

_LATE = {"Completed": "base", "Machine": "base", "Watch": "watch"}
"""What is in which module; loaded when it is wanted, for it imports the records of all that is exchanged."""
_TRANSPORTS = {"here": "Here", "emulated": "EmulatedTransport", "ssh": "Ssh", "exec": "of_software"}
"""What makes it, by the name of its module; packages register theirs as ``loadstone.transports``."""
_machines: dict[str, Machine] = {}
_lock = threading.Lock()


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)


def transport(reach: Reach) -> Transport:
    """The way to a machine; loaded when it is wanted, for that to emulated hosts imports what makes them."""
    make: Callable[..., Transport]
    if reach.transport in _TRANSPORTS:
        module = importlib.import_module(f"{__name__}.{reach.transport}")
        make = getattr(module, _TRANSPORTS[reach.transport])
    else:
        make = plugins.find("transports", reach.transport)
    return make(**reach.options)


def connect(name: str, reach: Reach) -> Machine:
    """The machine that is reached so, the same for all callers; ``name`` is what it is called at first."""
    from loadstone.infrastructure.machines.base import Machine

    way = transport(reach)
    key = f"{reach.model_dump_json()} {way.node_options()}"
    with _lock:
        return _machines.setdefault(key, Machine(name, way))


def this_machine(state: str = "") -> Machine:
    """The machine that Loadstone runs on; ``state``: of its node with that folder, not that of ``data_root()``."""
    return connect("this machine", Reach(options={"state": state} if state else {}))


@atexit.register
def close_all() -> None:
    """End the channels of this process, and wait until they have: what a command opened does not outlive it."""
    with _lock:
        machines = list(_machines.values())
        _machines.clear()
    for machine in machines:
        machine.close()
