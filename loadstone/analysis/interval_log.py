"""Latency over time, from the interval log of a trial: ``latency.hlog`` has a histogram for about every second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from loadstone.analysis import histograms, percentiles

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Interval:
    """What was answered in one interval. Times in seconds from the first interval, latencies in ms."""

    start_s: float
    end_s: float
    count: int
    p50_ms: float
    p99_ms: float


def read(file: Path, tag: str = histograms.ALL) -> tuple[list[Interval], str]:
    """The intervals of one tag in order, and what is wrong with the file; a file that is not there has none.

    Requests without a good answer stand at the end of the log, beside its last interval: they are left out. So
    are intervals in which nothing was answered, and those of less than half the usual length: of too few requests.
    """
    try:
        found = list(_intervals(file.read_text(encoding="ascii"), tag))
        usual = max((one.end_s - one.start_s for one in found), default=0.0)
        return [one for one in found if one.end_s - one.start_s >= usual / 2], ""
    except FileNotFoundError:
        return [], ""
    except Exception as error:  # the decoder raises whatever its input makes it stumble over
        return [], f"cannot be read: {error}"


def _intervals(text: str, tag: str) -> Iterator[Interval]:
    first, end = None, 0.0
    for name, start, length, encoded in histograms.entries(text.splitlines()):
        if name != tag:
            continue
        first = start if first is None else first
        start_s = start - first
        if start_s < end - 1e-6:
            return
        end = start_s + length
        interval = _interval(start_s, end, HdrHistogram.decode(encoded))
        if interval is not None:
            yield interval


def _interval(start_s: float, end_s: float, histogram: HdrHistogram) -> Interval | None:
    total = histogram.get_total_count()
    if total == 0 or end_s <= start_s:
        return None
    values = (
        histogram.get_highest_equivalent_value(histogram.get_value_from_index(int(index))) / _NS_PER_MS
        for index in percentiles.bins(np.ctypeslib.as_array(histogram.counts), (50, 99))
    )
    return Interval(start_s, end_s, total, *values)
