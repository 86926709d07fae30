"""Latency distributions of a trial, from ``latency.hlog``: HdrHistogram V2, one about every second, values in ns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median_high

import numpy as np
from hdrh.histogram import HdrHistogram

from loadstone.analysis import percentiles
from loadstone.analysis.statistics.merging import Sample, sample
from loadstone.model.errors import InputError

FILE = "latency.hlog"
ALL = "intended"
"""All requests from their intended send time; ``intended:<operation>`` is the tag of one operation's."""
_NS_PER_US, _NS_PER_MS = 1e3, 1e6


@dataclass(frozen=True)
class Interval:
    """What was answered in one interval. Times in seconds from the first interval, latencies in ms."""

    start_s: float
    end_s: float
    count: int
    p50_ms: float
    p99_ms: float


def distributions(file: Path, prefix: str = ALL) -> dict[str, Sample]:
    """The latencies in us of the whole trial by tag, of those tags that begin with ``prefix``.

    A value is the highest that its bin may stand for, as in the percentiles of ``summary.json``. Raises InputError
    where the file is missing or damaged.
    """
    counts: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    values: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for name, _, _, encoded in _entries(lines):
                if not name.startswith(prefix):
                    continue
                histogram = HdrHistogram.decode(encoded.encode())
                seen = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
                counts[name] = counts[name] + seen if name in counts else seen
                values.setdefault(name, _highest(histogram))
    except FileNotFoundError:
        raise InputError(f"{file}: is missing; the driver leaves it beside summary.json") from None
    except Exception as error:  # the decoder raises whatever its input makes it stumble over
        text = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file}: cannot be read as an HdrHistogram log: {text}") from None
    return {name: sample(values[name] / _NS_PER_US, seen) for name, seen in counts.items() if seen.any()}


def intervals(file: Path, tag: str = ALL) -> tuple[list[Interval], str]:
    """The intervals of one tag in order, and what is wrong with the file; a file that is not there has none.

    Requests without a good answer stand at the end of the log, beside its last interval: they are left out. So
    are intervals in which nothing was answered, and those of less than half the usual length: of too few requests.
    """
    try:
        found = list(_intervals(file.read_text(encoding="ascii"), tag))
        # A stall of the generator makes a single interval long.
        usual = median_high(interval.end_s - interval.start_s for interval in found) if found else 0.0
        return [interval for interval in found if interval.end_s - interval.start_s >= usual / 2], ""
    except FileNotFoundError:
        return [], ""
    except Exception as error:  # the decoder raises whatever its input makes it stumble over
        return [], f"cannot be read: {error}"


def _entries(lines: Iterable[str]) -> Iterator[tuple[str, float, float, str]]:
    """Tag, start and length in s, and encoded histogram of every interval.

    Those of all requests have no tag, as HdrHistogram's own tools expect; they had ``intended`` in release 0.1. They
    are given as ``ALL``.
    """
    for line in lines:
        tagged, _, rest = line.partition(",") if line.startswith("Tag=") else (f"Tag={ALL}", "", line)
        if not line.startswith(("#", '"')) and line.strip():
            start, length, _, encoded = rest.split(",")
            yield tagged.removeprefix("Tag="), float(start), float(length), encoded.strip()


def _highest(histogram: HdrHistogram) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The highest value in ns of every bin: after two rows of equal bins, each further row has bins twice as wide."""
    index = np.arange(histogram.counts_len, dtype=np.int64)
    half = histogram.sub_bucket_half_count
    row = index // half - 1
    place = np.where(row < 0, index, index % half + half)
    shift = np.maximum(row, 0) + histogram.unit_magnitude
    highest: np.ndarray[tuple[int], np.dtype[np.int64]] = ((place + 1) << shift) - 1
    return highest


def _intervals(text: str, tag: str) -> Iterator[Interval]:
    first, end = None, 0.0
    for name, start, length, encoded in _entries(text.splitlines()):
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
