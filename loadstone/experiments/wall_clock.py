"""Steps of wall clocks, of this machine and of each node with a kernel of its own: by hand, by NTP, or while it was
suspended. Gradual corrections are none."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median

from loadstone.experiments.channels import machines_of
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.model.cluster import Node
from loadstone.model.errors import LoadstoneError

_NOTABLE_S = 0.02
_READINGS = 5


def offset_s() -> float:
    """Wall clock minus monotonic clock, of several readings the one that took the least time."""
    readings = []
    for _ in range(_READINGS):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1] / 1e9


def offset_of(machine: Machine) -> float | None:
    """The same of a machine, which reads both clocks itself: the way there does not matter. None where it is lost."""
    try:
        clocks = [machine.clock() for _ in range(_READINGS)]
    except LoadstoneError:
        return None
    return median(clock.realtime_ns - clock.monotonic_ns for clock in clocks) / 1e9


class WallClocks:
    """Compares the wall clocks of this machine and of nodes with what they were when this was made."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._others = machines_of(node for node in nodes if not node.reach.local)
        self._before = self._offsets()

    def warnings(self) -> list[str]:
        """What each step since then means, as a sentence; none where there was none."""
        after = self._offsets()
        steps = {name: after[name] - before for name, before in self._before.items() if name in after}
        return [
            f"the wall clock of {name} was stepped by {step:+.3f} s in this trial: latency and counts do not use "
            "it, but spans and counters may be assigned to a wrong window"
            for name, step in steps.items()
            if abs(step) >= _NOTABLE_S
        ]

    def _offsets(self) -> dict[str, float]:
        """By the name of a machine; without those that are lost."""
        found = dict(zip([machine.name for machine in self._others], in_parallel(offset_of, self._others), strict=True))
        return {"this machine": offset_s()} | {name: offset for name, offset in found.items() if offset is not None}
