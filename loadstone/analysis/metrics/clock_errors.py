"""How far each node's clock was off over the time of a trial, as its chronyd estimates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from loadstone.analysis.metrics.nodes import MetricRow, title
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import Observed

_EVERY_NS = 10_000_000_000
_OFFSET, _BOUND = "clock_offset_seconds", "clock_error_seconds"


class ClockError(TableRow):
    """A node's clock in ten seconds: the largest offset from NTP's time, and the most that it may be off, in us."""

    node: str
    time_s: float
    offset_us: float
    error_us: float


class ClockErrorRow(ClockError, MetricRow, name="metrics_clocks"):
    """Its row in the table of all trials; ``time_s`` is unix time."""


def clock_errors(observed: Observed, recording: pa.Table) -> Iterator[ClockError]:
    """Every ten seconds the reading whose bound is largest; nothing of a node without chronyd."""
    metric = recording["metric"].cast(pa.string())
    offsets, bounds = (recording.filter(pc.equal(metric, name)) for name in (_OFFSET, _BOUND))
    for name in dict.fromkeys(bounds["node"].to_pylist()):
        if name not in observed.nodes:
            continue
        offset = _readings(offsets, name)
        largest: dict[int, tuple[int, float]] = {}
        errors = _readings(bounds, name)
        first = min(errors)
        for moment, bound in errors.items():
            piece = (moment - first) // _EVERY_NS
            if moment in offset and bound >= largest.get(piece, (0, -np.inf))[1]:
                largest[piece] = (moment, bound)
        for moment, bound in largest.values():
            yield ClockError(
                node=title(observed, name), time_s=moment / 1e9, offset_us=1e6 * offset[moment], error_us=1e6 * bound
            )


def _readings(table: pa.Table, node: str) -> dict[int, float]:
    """Values by time."""
    mine = table.filter(pc.equal(table["node"].cast(pa.string()), node))
    return dict(zip(mine["time_ns"].to_pylist(), mine["value"].to_pylist(), strict=True))
