"""The load workers of a run: one or several on each client, each started by a command and driven over its pipes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Node
from loadstone.model.load import Load

THREAD_LIMIT = 20_000.0
"""Requests/s of a load thread: the highest rate at which its lateness is measured (docs/explanation/performance.md)."""


@dataclass(frozen=True)
class LoadWorkerCommand:
    """A load worker: its name in results, and the command that runs ``stone load --member`` on its machine."""

    name: str
    command: tuple[str, ...]


def clients_needed(load: Load) -> int | None:
    """How many client machines the highest rate of a study needs; None where answers or a trace decide the rate."""
    if load.driver != Load.model_fields["driver"].default:  # others generate load on one machine
        return 1
    rate = load.highest_rate
    return None if rate is None else math.ceil(rate / (THREAD_LIMIT * load.threads))


def shortage(load: Load, clients: int) -> str | None:
    """Why so many client machines are too few for the highest rate, as a sentence; None where they are enough, or
    ``load.workers`` says how many load workers there are."""
    needed = clients_needed(load)
    if load.workers is not None or needed is None or needed <= clients:
        return None
    limit = f"{THREAD_LIMIT * load.threads:,.0f} requests/s each"
    there = "there is 1" if clients == 1 else f"there are {clients}"
    return f"{load.highest_rate:,.0f} requests/s need {needed} client machines, at {limit}; {there}"


def members(load: Load, clients: Sequence[Node]) -> tuple[LoadWorkerCommand, ...]:
    """The load workers of a run; none where this machine generates it alone.

    ``load.workers`` of them have equal shares of the clients, and those of one client share its cores evenly. Without
    it there is one on each of as many clients as the highest rate needs, or on all where answers decide the rate.
    """
    total = load.workers or min(clients_needed(load) or len(clients), len(clients))
    used = clients[:total]
    if total <= 1 and all(client.reach.local for client in used):
        return ()
    numbers = [len(range(index, total, len(used))) for index in range(len(used))]
    return tuple(member for client, number in zip(used, numbers, strict=True) for member in _on(client, number))


def _on(client: Node, number: int) -> list[LoadWorkerCommand]:
    machine = connect(client.name, client.reach)
    taskset = machine.facts(("taskset",)).tools.get("taskset")

    def bound(index: int) -> list[str]:
        cores = client.cpus[index::number] or client.cpus
        return [taskset, "-c", format_cores(cores)] if cores and taskset else []

    names = [client.name] if number == 1 else [f"{client.name}/{index + 1}" for index in range(number)]
    load = [machine.stone, "load", "--member"]
    return [LoadWorkerCommand(name, tuple(machine.command([*bound(index), *load]))) for index, name in enumerate(names)]
