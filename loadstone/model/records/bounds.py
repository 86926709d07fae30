"""Percentiles among requests without a good answer: of these only a lower bound is known.

Such requests rank above all that were answered, so a percentile is one of them where its rank is beyond the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

RANKED = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9, "max": 100.0}
"""The statistics of a latency that are the value of one request, by their percentile."""


class BoundedRow(Protocol):
    """A row of a table with latencies."""

    @property
    def latency_bound_ms(self) -> float | None:
        """What those of its latencies exceed that are null; None where none is a bound."""


def only_bounded(row: BoundedRow, column: str) -> bool:
    """Whether a row has no value of that latency, as only a lower bound of it is known."""
    return getattr(row, column) is None and row.latency_bound_ms is not None


def is_bound(percentile: float, count: int, answered: int) -> bool:
    """Whether that percentile of ``count`` requests is beyond the ``answered`` ones."""
    return percentile / 100 * count > answered * (1 + 1e-12)


def beyond(values: Mapping[str, float | None], count: int, answered: int) -> tuple[list[str], float | None]:
    """The names of ``RANKED`` that are bounds, and what all of these exceed, in the unit of ``values``; None where none
    of them has a value. It is rounded down to three digits: values are the upper ends of a histogram's bins."""
    names = [name for name, percentile in RANKED.items() if is_bound(percentile, count, answered)]
    least = next((value for name in names if (value := values.get(name))), None)
    if least is None:
        return names, None
    return names, rounded_down(least)


def rounded_down(bound: float) -> float:
    """A lower bound above zero to three digits, of which it stays one."""
    digits = 2 - math.floor(math.log10(bound))
    return round(math.floor(bound * 10.0**digits) / 10.0**digits, max(digits, 0))
