"""Was each trial in a steady state, and how did its latency go over time?

The verdict is on the mean latency of each hundredth of the window, by the time at which requests were due: from
``summary.json``, where a trial has kept it. P50 and P99 are those of what was answered in each second: from the
interval log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loadstone.analysis.run import RunFolder, hlog
from loadstone.analysis.schema import OfTrial
from loadstone.analysis.steady_state import SteadyState, steady_state
from loadstone.model.records.summary import Series
from loadstone.model.records.trial_row import TrialRow

STOPPED = "stopped early"
"""The reason why such a trial was not judged."""


class SteadyRow(OfTrial, name="steady"):
    """Whether a trial was in a steady state, and why not; ``stationary`` is None where that cannot be decided.

    ``judged`` is false where a trial was stopped early or has kept no series: its whole window cannot be judged.
    """

    verdict: str
    load: float
    judged: bool
    stationary: bool | None = None
    reason: str
    cut_s: float | None = None
    drift: float | None = None
    changes_s: tuple[float, ...] | None = None


class LatencyPart(OfTrial, name="over_time"):
    """Latency in one part of a trial's window, in seconds from its start.

    ``what`` is ``mean`` (by due time, what the verdict is on) or ``p50`` and ``p99`` (by the time of the answer);
    ``requests`` is None for the mean.
    """

    verdict: str
    load: float
    what: str
    from_s: float
    to_s: float
    ms: float
    requests: int | None = None


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


def steady(run: RunFolder) -> list[SteadyRow]:
    """The verdict anew on every valid trial."""
    return [_row(run, row) for row in run.trials if row.valid]


def _row(run: RunFolder, row: TrialRow) -> SteadyRow:
    about = SteadyRow.columns_of(row)
    if row.stopped:
        return SteadyRow(**about, judged=False, reason=STOPPED)
    if (judged := judge(_series(run, row))) is None:
        return SteadyRow(**about, judged=False, reason="no course of the latency was kept")
    return SteadyRow(
        **about,
        judged=True,
        stationary=judged.state.stationary,
        reason=judged.state.reason,
        cut_s=judged.cut_s,
        drift=judged.state.drift,
        changes_s=judged.changes_s,
    )


def _series(run: RunFolder, row: TrialRow) -> Series | None:
    summary = run.summary(row.trial_id)
    return summary.series if summary is not None else None


def over_time(run: RunFolder, trials: Iterable[TrialRow]) -> tuple[list[LatencyPart], list[str]]:
    """Latency over time of these trials, and which logs are damaged.

    One that was stopped early has none: the stop cut its requests off.
    """
    parts: list[LatencyPart] = []
    problems = []
    for row in trials:
        if row.stopped:
            continue
        about = LatencyPart.columns_of(row)
        if (series := _series(run, row)) is not None:
            for start, mean in _points(series):
                part = LatencyPart(**about, what="mean", from_s=start, to_s=start + series.step_s, ms=mean)
                parts.append(part)
        intervals, problem = hlog.intervals(run.folder / "trials" / row.trial_id / hlog.FILE)
        if problem:
            problems.append(f"not shown over time: {row.trial_id}/{hlog.FILE} {problem}")
        for interval in intervals:
            about |= {"from_s": interval.start_s, "to_s": interval.end_s, "requests": interval.count}
            parts.append(LatencyPart(**about, what="p50", ms=interval.p50_ms))
            parts.append(LatencyPart(**about, what="p99", ms=interval.p99_ms))
    return parts, problems
