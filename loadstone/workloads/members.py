"""The load workers of a run: one a generating host, each started by a command and spoken to over its pipes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.cores import format_cores
from loadstone.model.load import Load


@dataclass(frozen=True)
class Member:
    """A load worker: its name in results, and the command that runs ``stone load --member`` on its machine."""

    name: str
    command: tuple[str, ...]


def members(load: Load, cpus: Sequence[int]) -> tuple[Member, ...]:
    """The load workers that ``load`` asks for; none where this process generates it alone.

    ``cpus`` are the cores of this machine that may generate load, all where empty; load workers here share them evenly.
    """
    if load.workers == 1:
        return ()
    command = (str(stone_binary()), "load", "--member")
    return tuple(
        Member(f"generator-{number + 1}", (*_bound(cpus[number :: load.workers] or cpus), *command))
        for number in range(load.workers)
    )


def _bound(cpus: Sequence[int]) -> tuple[str, ...]:
    taskset = shutil.which("taskset")
    return (taskset, "-c", format_cores(cpus)) if cpus and taskset else ()
