"""What the stressors of a trial used between two readings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loadstone.infrastructure.machines import in_parallel
from loadstone.infrastructure.stressors.part import StressorPart
from loadstone.infrastructure.stressors.program import Operations
from loadstone.model.interference import Stressor
from loadstone.model.records.interference import NeighbourReading
from loadstone.model.records.node.replicas import Standing


class Readings(NamedTuple):
    """By node, and when they were complete (seconds of the monotonic clock)."""

    at_s: float
    standings: Mapping[str, Standing]


def read(parts: Sequence[StressorPart]) -> Readings:
    """Readings of all parts, side by side."""
    standings = in_parallel(StressorPart.read, parts)
    return Readings(time.monotonic(), {part.node.name: each for part, each in zip(parts, standings, strict=True)})


def between(
    before: Readings,
    after: Readings,
    parts: Sequence[StressorPart],
    stressor: Stressor,
    operations: Mapping[str, Operations | None],
) -> list[NeighbourReading]:
    """One reading a node, of those that were read both times; ``operations``: by node."""
    found = []
    for part in parts:
        node = part.node.name
        was, now = before.standings[node], after.standings[node]
        if was.usage is None or now.usage is None:
            continue
        io = {}
        if was.io is not None and now.io is not None:
            # Workers that ended took their counts along.
            io = {"read": max(0, now.io.read - was.io.read), "written": max(0, now.io.written - was.io.written)}
        ended = operations.get(node)
        found.append(
            NeighbourReading(
                name=stressor.stressor,
                node=node,
                window_s=round(after.at_s - before.at_s, 3),
                cpu_s=round(now.usage.cpu_s - was.usage.cpu_s, 6),
                memory=now.usage.memory,
                **io,
                operations=ended.number if ended else None,
                operations_per_s=round(ended.per_s, 3) if ended else None,
                command=part.command(stressor),
            )
        )
    return found
