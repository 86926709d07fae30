"""Did the machine stay the same? A computation that is always the same is timed beside every trial.

A trial's reading is the shorter of its two times, before and after the load: what an overloaded application still has
to work off holds up the later one. A drift is what the running median of three trials makes of it, so that a single
slow trial is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import pyarrow as pa

FEWEST = 5
"""The fewest trials whose course can be separated from the scatter of single readings."""
NOTABLE = 0.05
"""A drift that is smaller changes no number that anybody would act on."""


@dataclass(frozen=True)
class Drift:
    """Over the trials of a run or of a search."""

    size: float
    """How much longer the loop took where it took longest, 0.22: 22 % longer than where it was shortest."""
    shortest_ms: float
    longest_ms: float


def course(trials: pa.Table) -> pa.Table:
    """One row per trial that has readings, in the order they were run: ``before_ms``, ``after_ms``, ``smoothed_ms``."""
    found = [
        row
        for row in trials.select(["trial_id", "treatment", "order", *_READINGS]).to_pylist()
        if any(row[name] is not None for name in _READINGS)
    ]
    shortest = [min(row[name] for name in _READINGS if row[name] is not None) for row in found]
    for place, row in enumerate(found):
        row["before_ms"], row["after_ms"] = (row.pop(name) for name in _READINGS)
        row["smoothed_ms"] = median(shortest[max(place - 1, 0) : place + 2])
    return pa.Table.from_pylist(found, schema=_COURSE)


def drift(trials: pa.Table) -> Drift | None:
    """How far the speed strayed; None where there are too few readings, as in runs of releases up to 0.1."""
    smoothed = course(trials)["smoothed_ms"].to_pylist()
    if len(smoothed) < FEWEST:
        return None
    inner = smoothed[1:-1]  # the first and the last are a mean of two
    low, high = min(inner), max(inner)
    return Drift(high / low - 1, low, high)


_READINGS = ("reference_before_ms", "reference_after_ms")
_COURSE = pa.schema(
    [
        ("trial_id", pa.string()),
        ("treatment", pa.string()),
        ("order", pa.int64()),
        *((name, pa.float64()) for name in ("before_ms", "after_ms", "smoothed_ms")),
    ]
)
