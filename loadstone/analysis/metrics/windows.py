"""Readings of counters and gauges, brought to the exact window that was measured.

A counter is read every period, not when the window begins, so its value at the window's ends is interpolated linearly
between the readings around them. Where readings begin late or end early it is extrapolated by at most one period;
beyond that, and where a counter began anew, there is no value, and the reason stands in its place. Nor is there a mean
of a gauge beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Key = tuple[str, str, str]
"""Node, subject, metric."""

_NAMES = ("node", "subject", "metric")
_MAY_FALL = ("cpu_iowait_seconds_total", "cpu_idle_seconds_total")
"""proc(5): the kernel's estimates of these decrease at times; that is no new beginning."""
EARLY, LATE, ANEW, FEW = "readings end too early", "readings begin too late", "began anew", "a single reading"


class Value(NamedTuple):
    """One series in the window; missing values are null, with the reason in ``problem``."""

    change: float | None
    """The increase of a counter over the window."""
    mean: float | None
    """The mean of a gauge over its readings in the window, if they cover it."""
    before: float | None
    """The value of a gauge when the window began."""
    after: float | None
    """The value of a gauge when the window ended."""
    problem: str = ""


@dataclass(frozen=True)
class WindowValues:
    """All series of one trial in its window of ``seconds``, and how often each node was read and was not."""

    seconds: float
    values: dict[Key, Value]
    readings: dict[str, tuple[int, int]]
    """By node: the number of readings, and of missing ones by the period."""

    def get(self, node: str, subject: str, metric: str) -> Value:
        """The value of a series; one without any number where there is no such series."""
        return self.values.get((node, subject, metric), NOTHING)

    def rate(self, node: str, subject: str, metric: str) -> float | None:
        """A counter's change per second."""
        change = self.get(node, subject, metric).change
        return None if change is None else change / self.seconds

    def subjects(self, node: str, kind: str, metric: str) -> Iterator[tuple[str, Value]]:
        """The series of a metric of all subjects ``kind:...`` of a node, by name without the kind."""
        for subject, value in self._by_metric.get((node, metric), ()):
            if subject.startswith(kind):
                yield subject.removeprefix(kind), value

    @cached_property
    def subjects_by_node(self) -> dict[str, set[str]]:
        """What has series on each node, with its kind: ``node``, ``cpu:0``, ..."""
        found: dict[str, set[str]] = {}
        for node, subject, _ in self.values:
            found.setdefault(node, set()).add(subject)
        return found

    @cached_property
    def _by_metric(self) -> dict[tuple[str, str], list[tuple[str, Value]]]:
        found: dict[tuple[str, str], list[tuple[str, Value]]] = {}
        for (node, subject, metric), value in self.values.items():
            found.setdefault((node, metric), []).append((subject, value))
        return found


NOTHING = Value(None, None, None, None)


def read(file: Path) -> tuple[pa.Table | None, str]:
    """``metrics.parquet``, or None and what is wrong with it; a file that is not there is not wrong."""
    if not file.exists():
        return None, ""
    try:
        table = pa.parquet.read_table(file, read_dictionary=list(_NAMES))
        if missing := {*_NAMES, "time_ns", "value"} - set(table.column_names):
            return None, f"metrics.parquet lacks the columns {', '.join(sorted(missing))}"
        numbers = {"time_ns": table["time_ns"].cast(pa.int64()), "value": table["value"].cast(pa.float64())}
        return pa.table({**{name: table[name] for name in _NAMES}, **numbers}), ""
    except (pa.ArrowException, OSError, ValueError) as error:
        return None, f"metrics.parquet cannot be read: {str(error).splitlines()[0]}"


def measure(table: pa.Table, from_ns: int, to_ns: int) -> WindowValues:
    """Every series of ``metrics.parquet`` in the window. Pure."""
    seconds = (to_ns - from_ns) / 1e9
    if not table.num_rows or seconds <= 0:
        return WindowValues(max(seconds, 0.0), {}, {})
    series = _series(table)
    period = series.period()
    change, reasons = _changes(series, from_ns, to_ns, period)
    mean, before, after = _gauges(series, from_ns, to_ns, period)
    values = {}
    for key, changed, reason, *gauge in zip(
        series.keys, _known(change), reasons, _known(mean), _known(before), _known(after), strict=True
    ):
        counts = key[2].endswith("_total")
        values[key] = Value(changed, None, None, None, reason) if counts else Value(None, *gauge)
    return WindowValues(seconds, values, _readings(series, period))


def _known(values: Floats) -> list[float | None]:
    """Null for what is not a number."""
    return [None if isnan(value) else value for value in values.tolist()]


@dataclass(frozen=True)
class _Series:
    """All readings, sorted by series and then by time; series ``i`` is ``[start[i], end[i])``."""

    keys: list[Key]
    start: Ints
    end: Ints
    time: Ints
    value: Floats

    def period(self) -> float:
        """The usual time between two readings of a series, ns; 0 where none was read twice."""
        steps = np.diff(self.time)[self.within()[1:]]
        return float(np.median(steps)) if len(steps) else 0.0

    def within(self) -> npt.NDArray[np.bool_]:
        """Which readings have another of the same series before them."""
        inner = np.ones(len(self.time), dtype=np.bool_)
        inner[self.start] = False
        return inner

    def after(self, moment: int) -> Ints:
        """By series the index of its first reading after that moment; ``end`` where there is none."""
        first, last = int(self.time.min()), int(self.time.max())
        width = last - first + 2
        rank = np.repeat(np.arange(len(self.keys)), self.end - self.start) * width + (self.time - first)
        wanted = np.arange(len(self.keys)) * width + min(max(moment - first, -1), last - first)
        return np.searchsorted(rank, wanted, side="right").astype(np.int64)


def _series(table: pa.Table) -> _Series:
    codes, names = zip(*(_coded(table[name]) for name in _NAMES), strict=True)
    time = table["time_ns"].to_numpy().astype(np.int64)
    value = table["value"].to_numpy().astype(np.float64)
    joined = (codes[0] * len(names[1]) + codes[1]) * len(names[2]) + codes[2]
    order = np.lexsort((time, joined))
    joined, time, value = joined[order], time[order], value[order]
    again = np.concatenate(([False], (np.diff(joined) == 0) & (np.diff(time) == 0)))
    joined, time, value = joined[~again], time[~again], value[~again]
    start = np.flatnonzero(np.concatenate(([True], np.diff(joined) != 0))).astype(np.int64)
    end = np.append(start[1:], len(time)).astype(np.int64)
    keys = [
        (names[0][code // len(names[2]) // len(names[1])], names[1][code // len(names[2]) % len(names[1])], names[2][m])
        for code, m in zip(joined[start].tolist(), (joined[start] % len(names[2])).tolist(), strict=True)
    ]
    return _Series(keys, start, end, time, value)


def _coded(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    encoded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.combine_chunks()
    return whole.indices.to_numpy(zero_copy_only=False).astype(np.int64), whole.dictionary.to_pylist()


def _changes(series: _Series, from_ns: int, to_ns: int, period: float) -> tuple[Floats, Sequence[str]]:
    """By series its change over the window (NaN: none), and why there is none."""
    single = series.end - series.start < 2
    first, last = series.start, np.maximum(series.end - 1, series.start)
    lower = np.clip(series.after(from_ns) - 1, first, np.maximum(last - 1, first))
    upper = np.clip(series.after(to_ns) - 1, first, np.maximum(last - 1, first))
    change = _at(series, upper, to_ns) - _at(series, lower, from_ns)
    fell = (np.diff(series.value, prepend=series.value[0]) < 0) & series.within()
    falls = np.cumsum(fell)
    anew = falls[np.minimum(upper + 1, last)] > falls[lower]
    for index, (_, _, metric) in enumerate(series.keys):
        if metric in _MAY_FALL:
            anew[index], change[index] = False, max(change[index], 0.0)
    late = series.time[first] - from_ns > period
    early = to_ns - series.time[last] > period
    reasons = np.select([single, late, early, anew], [FEW, LATE, EARLY, ANEW], default="")
    change[reasons != ""] = np.nan
    return change, reasons.tolist()


def _at(series: _Series, lower: Ints, moment: int) -> Floats:
    """Each series' value at that moment on the line through the readings at ``lower`` and after it."""
    upper = np.minimum(lower + 1, series.end - 1)
    step = (series.time[upper] - series.time[lower]).astype(np.float64)
    share = np.divide(moment - series.time[lower], step, out=np.zeros(len(lower)), where=step > 0)
    return np.asarray(series.value[lower] + share * (series.value[upper] - series.value[lower]), dtype=np.float64)


def _gauges(series: _Series, from_ns: int, to_ns: int, period: float) -> tuple[Floats, Floats, Floats]:
    """By series the mean of its readings in the window, and the reading next to either end, at most a period away.

    Of readings that begin late or end early by more there is no mean: it would be that of a part of the window.
    """
    begin, end = series.after(from_ns - 1), series.after(to_ns)
    count = end - begin
    total = np.add.reduceat(np.append(series.value, 0.0), np.column_stack((begin, end)).ravel())[::2]
    late = series.time[series.start] - from_ns > period
    early = to_ns - series.time[series.end - 1] > period
    known = (count > 0) & ~late & ~early
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=known)
    return mean, _near(series, from_ns, period), _near(series, to_ns, period)


def _near(series: _Series, moment: int, period: float) -> Floats:
    later = np.clip(series.after(moment), series.start, series.end - 1)
    earlier = np.maximum(later - 1, series.start)
    far = [np.abs(series.time[index] - moment) for index in (earlier, later)]
    nearest = np.where(far[0] <= far[1], earlier, later)
    return np.where(np.minimum(*far) <= max(period, 1), series.value[nearest], np.nan)


def _readings(series: _Series, period: float) -> dict[str, tuple[int, int]]:
    """By node, from the series of it that was read most often."""
    count = series.end - series.start
    most: dict[str, int] = {}
    for index, (node, _, _) in enumerate(series.keys):
        if node not in most or count[index] > count[most[node]]:
            most[node] = index
    found = {}
    for node, index in most.items():
        steps = np.diff(series.time[series.start[index] : series.end[index]])
        missing = np.maximum(np.rint(steps / period) - 1, 0).sum() if period else 0
        found[node] = (int(count[index]), int(missing))
    return found
