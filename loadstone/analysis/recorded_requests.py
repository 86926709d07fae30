"""Requests that a generator recorded one by one (``requests.parquet``), as far as they were due in a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from loadstone.analysis import percentiles
from loadstone.model.records.interference import NeighbourLoad
from loadstone.model.records.observed import MeasuredWindow

_ANSWERED = ("completed", "late")
_PERCENTILES = {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0}


def within(
    files: Iterable[Path], window: MeasuredWindow, application: str, workload: str, rate: float
) -> NeighbourLoad:
    """What became of the requests whose intended time lies in ``window``; ``files``: one of each load worker."""
    outcomes: Counter[str] = Counter()
    latencies: list[float] = []
    for file in files:
        table = pq.read_table(file, columns=["scheduled_ns", "ended_ns", "outcome"])
        began = _started_ns(table.schema.metadata)
        for row in table.to_pylist():
            if window.from_ns <= began + row["scheduled_ns"] < window.to_ns:
                outcomes[row["outcome"]] += 1
                if row["outcome"] in _ANSWERED:
                    latencies.append((row["ended_ns"] - row["scheduled_ns"]) / 1e6)
    found = percentiles.of_sorted(np.sort(latencies), list(_PERCENTILES.values())) if latencies else ()
    return NeighbourLoad(
        application=application,
        workload=workload,
        rate=rate,
        window_s=round((window.to_ns - window.from_ns) / 1e9, 3),
        offered=outcomes.total(),
        completed=outcomes["completed"],
        late=outcomes["late"],
        errors=outcomes["error"] + outcomes["skipped"],
        timeouts=outcomes["timeout"],
        unsent=outcomes["unsent"] + outcomes["abandoned"],
        in_flight=outcomes["in_flight"],
        **{name: round(float(value), 3) for name, value in zip(_PERCENTILES, found, strict=False)},
    )


def _started_ns(metadata: dict[bytes, bytes]) -> int:
    """When the run began, in unix nanoseconds to the microsecond."""
    started = datetime.fromisoformat(metadata[b"started"].decode())
    return round(1e6 * started.timestamp()) * 1000
