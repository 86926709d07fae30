"""The load workers of a run: one or several on each client, each started by a command and driven over its pipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Node
from loadstone.model.load import Load


@dataclass(frozen=True)
class LoadWorker:
    """A load worker: its name in results, and the command that runs ``stone load --member`` on its machine."""

    name: str
    command: tuple[str, ...]


def members(load: Load, clients: Sequence[Node]) -> tuple[LoadWorker, ...]:
    """The load workers of a run: ``load.workers``, at least one a client; none where this machine generates it alone.

    Clients have equal shares of them; those of one client share its cores evenly.
    """
    if load.workers == 1 and all(client.reach.local for client in clients):
        return ()
    total = max(load.workers, len(clients))
    numbers = [len(range(index, total, len(clients))) for index in range(len(clients))]
    return tuple(member for client, number in zip(clients, numbers, strict=True) for member in _on(client, number))


def _on(client: Node, number: int) -> list[LoadWorker]:
    machine = connect(client.name, client.reach)
    taskset = machine.facts(("taskset",)).tools.get("taskset")

    def bound(index: int) -> list[str]:
        cores = client.cpus[index::number] or client.cpus
        return [taskset, "-c", format_cores(cores)] if cores and taskset else []

    names = [client.name] if number == 1 else [f"{client.name}/{index + 1}" for index in range(number)]
    load = [machine.stone, "load", "--member"]
    return [LoadWorker(name, tuple(machine.command([*bound(index), *load]))) for index, name in enumerate(names)]
