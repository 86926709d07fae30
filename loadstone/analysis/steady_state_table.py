"""Was each trial in a steady state, and how did its latency go over time?

The verdict is on the mean latency of each hundredth of the window, by the time at which requests were due: from
``summary.json``, where a trial has kept it. P50 and P99 are those of what was answered in each second: from the
interval log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from loadstone.analysis.run import RunFolder, hlog
from loadstone.analysis.steady_state import SteadyState, steady_state
from loadstone.analysis.summary import VALID, Row, load_of
from loadstone.model.records import Series

STOPPED = "stopped early"
"""The reason why such a trial was not judged."""


@dataclass(frozen=True)
class Judged:
    """A verdict with its places in time, in seconds from the start of the window."""

    state: SteadyState
    cut_s: float
    changes_s: tuple[float, ...]


def judge(series: Series | None) -> Judged | None:
    """The verdict on a trial's series of mean latencies; None where there is none.

    Steps in which nothing was due, or nothing was answered well, are left out, and the times are those of what is left.
    """
    if series is None:
        return None
    points = list(_points(series))
    if not points:
        return None
    state = steady_state([mean for _, mean in points])
    return Judged(state, points[state.cut][0], tuple(points[index][0] for index in state.changes))


def _points(series: Series) -> Iterator[tuple[float, float]]:
    """Start of each step and its mean, where it has one."""
    for step, mean in enumerate(series.mean_ms):
        if mean is not None:
            yield step * series.step_s, mean


def steady(run: RunFolder) -> pa.Table:
    """One row a trial that measured something: its verdict anew, and why; ``stationary`` is null where untold.

    ``judged`` is false where a trial was stopped early or has kept no series: its whole window cannot be judged.
    """
    return pa.Table.from_pylist([_row(run, row) for row in run.trials.to_pylist() if _measured(row)], schema=_STEADY)


def _measured(row: Row) -> bool:
    return row["verdict"] in VALID


def _row(run: RunFolder, row: Row) -> Row:
    judged = None
    if row["aborted_at_s"] is None:
        judged = judge(_series(run, row))
    if judged is None:
        why = STOPPED if row["aborted_at_s"] is not None else "no course of the latency was kept"
        return _trial(row) | {"judged": False, "reason": why}
    return _trial(row) | {
        "judged": True,
        "stationary": judged.state.stationary,
        "reason": judged.state.reason,
        "cut_s": judged.cut_s,
        "drift": judged.state.drift,
        "changes_s": list(judged.changes_s),
    }


def _series(run: RunFolder, row: Row) -> Series | None:
    summary = run.summary(row["trial_id"])
    return summary.series if summary is not None else None


def over_time(run: RunFolder, trials: Iterable[Row]) -> tuple[pa.Table, list[str]]:
    """Latency over time of these trials, and which logs are damaged.

    ``what`` is ``mean`` (by due time, what the verdict is on) or ``p50`` and ``p99`` (by the time of the answer);
    ``requests`` is null for the mean. One that was stopped early has none: the stop cut its requests off.
    """
    rows: list[Row] = []
    problems = []
    for row in trials:
        if row["aborted_at_s"] is not None:
            continue
        trial = _trial(row)
        if (series := _series(run, row)) is not None:
            for start, mean in _points(series):
                rows.append(trial | {"what": "mean", "from_s": start, "to_s": start + series.step_s, "ms": mean})
        intervals, problem = hlog.intervals(run.folder / "trials" / row["trial_id"] / hlog.FILE)
        if problem:
            problems.append(f"not shown over time: {row['trial_id']}/{hlog.FILE} {problem}")
        for interval in intervals:
            span = {"from_s": interval.start_s, "to_s": interval.end_s, "requests": interval.count}
            rows += [
                trial | span | {"what": "p50", "ms": interval.p50_ms},
                trial | span | {"what": "p99", "ms": interval.p99_ms},
            ]
    return pa.Table.from_pylist(rows, schema=_OVER_TIME), problems


def _trial(row: Row) -> Row:
    return {name: row[name] for name in ("trial_id", "treatment", "phase", "rate", "clients", "verdict")} | {
        "load": load_of(row)
    }


_TRIAL: list[tuple[str, pa.DataType]] = [
    *((name, pa.string()) for name in ("trial_id", "treatment", "phase")),
    ("rate", pa.float64()),
    ("clients", pa.int64()),
    ("verdict", pa.string()),
    ("load", pa.float64()),
]
_STEADY = pa.schema(
    [
        *_TRIAL,
        ("judged", pa.bool_()),
        ("stationary", pa.bool_()),
        ("reason", pa.string()),
        ("cut_s", pa.float64()),
        ("drift", pa.float64()),
        ("changes_s", pa.list_(pa.float64())),
    ]
)
_OVER_TIME = pa.schema(
    [
        *_TRIAL,
        ("what", pa.string()),
        ("from_s", pa.float64()),
        ("to_s", pa.float64()),
        ("ms", pa.float64()),
        ("requests", pa.int64()),
    ]
)
