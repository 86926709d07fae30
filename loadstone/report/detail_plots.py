"""The plots of a trial's and a treatment's own page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadstone.analysis.run import VERDICTS
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.records.bounds import only_bounded
from loadstone.model.records.summary import TrialSummary
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.plots import Axis, Mark, PlotLine, SvgPlot, linear, logarithmic, nines

_LATENCY = "latency (ms)"


@dataclass(frozen=True)
class PlotView:
    """A plot with its title and caption."""

    title: str
    caption: str
    plot: SvgPlot


def spectrum(trials: Sequence[tuple[TrialRow, TrialSummary | None]], content: Content) -> PlotView | None:
    """Latency over all percentiles: of one trial with its service time, of several each by its load."""
    lines = []
    for place, (row, summary) in enumerate(trials):
        name = format.load(row) if len(trials) > 1 else "latency"
        # Above one request in all that were offered there is only the maximum, again and again.
        points = summary.spectrum if summary is not None else ()
        shown = [p for p in points if (100 - p[0]) / 100 * (row.offered or 0) >= 1]
        lines.append(PlotLine(name, [(p[0], p[1]) for p in shown if p[1]], place))
        if len(trials) == 1:
            lines.append(PlotLine("service time", [(p[0], p[2]) for p in shown if p[2]], 1, "dashed"))
    values = [point for line in lines for point in line.points]
    if not values:
        return None
    limits = [(percentile, limit) for percentile, limit in (content.slo.limits if content.slo else {}).items()]
    x = nines("percentile", max(percentile for percentile, _ in values))
    y = logarithmic(_LATENCY, [value for _, value in values] + [limit for _, limit in limits])
    marks = [Mark(f"SLO: P{p:g} ≤ {format.milliseconds(limit)}", y=limit) for p, limit in limits]
    title = "Latency over all percentiles"
    caption = "Each further nine has the same room; a line ends at the last percentile that its requests can show."
    return PlotView(title, caption, SvgPlot(title, x, y, lines, marks))


def over_time(row: TrialRow, summary: TrialSummary | None) -> PlotView | None:
    """The mean latency by intended send time, with the warm-up that was found within the window.

    None for a trial that broke and was stopped: it has no latency.
    """
    if row.stopped:
        return None
    series = summary.series if summary is not None else None
    if series is None:
        return _backlog(summary)
    step = series.step_s
    runs = _unbroken([((place + 0.5) * step, mean) for place, mean in enumerate(series.mean_ms)])
    values = [point for run in runs for point in run]
    if not values:
        return _backlog(summary)
    x = linear("time in the window (s)", [0.0, len(series.mean_ms) * step])
    y = linear("mean latency (ms)", [value for _, value in values])
    cut = row.warmup_cut_s
    marks = [Mark(f"warm-up up to {format.duration(cut)}", x=cut)] if cut else []
    settled = {True: " It had settled.", False: " It had not settled.", None: ""}[row.steady]
    caption = f"Means over {format.duration(step)}, by the time at which requests were due.{settled}"
    title = "Latency over time"
    return PlotView(title, caption, SvgPlot(title, x, y, [PlotLine("", run) for run in runs], marks))


def _unbroken(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """The stretches in which something was scheduled."""
    runs: list[list[tuple[float, float]]] = [[]]
    for time, value in points:
        if value is not None:
            runs[-1].append((time, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _backlog(summary: TrialSummary | None) -> PlotView | None:
    """Requests that waited, by part of the window: where a trial kept no latency over time."""
    batches = summary.batches if summary is not None else ()
    if len(batches) < 2:
        return None
    width = min(later.start_s - batch.start_s for batch, later in pairwise(batches))
    points = [(batch.start_s + width, float(batch.backlog)) for batch in batches]
    x, y = linear("time in the window (s)", [0.0, points[-1][0]]), linear("backlog (requests)", [p[1] for p in points])
    title, caption = "Backlog over time", "Scheduled and not yet settled, at the end of each tenth of the window."
    return PlotView(title, caption, SvgPlot(title, x, y, [PlotLine("", points)]))


def load(treatment: TreatmentSummary, content: Content) -> PlotView | None:
    """Every trial's latency against its load, with the SLO and the capacity."""
    column, name, limit = content.percentile
    rows = [row for row in treatment.trials if getattr(row, column)]
    broke = [row.load for row in treatment.trials if row.stopped]
    slower = [(row.load, row.latency_bound_ms or 0.0) for row in treatment.trials if only_bounded(row, column)]
    if not rows:
        return None
    lines = []
    for colour, verdict in enumerate(VERDICTS):
        points = [(row.load, getattr(row, column)) for row in rows if row.verdict == verdict]
        lines += [PlotLine(verdict, points, colour, verdict.replace(" ", "-"))] if points else []
    x = _loads(content, [row.load for row in rows] + broke + [load for load, _ in slower])
    latencies = [getattr(row, column) for row in rows] + [bound for _, bound in slower]
    y = logarithmic(f"{name} latency (ms)", latencies + ([limit] if limit else []))
    if broke:
        lines.append(PlotLine("broke early", [(load, y.low) for load in broke], VERDICTS.index("not held"), "broke"))
    if slower:
        lines.append(PlotLine("slower than that", slower, VERDICTS.index("not held"), "broke"))
    marks = [Mark(f"SLO: {name} ≤ {format.milliseconds(limit)}", y=limit)] if limit is not None else []
    if treatment.searched is not None and treatment.searched.result is not None:
        point = treatment.searched.result.capacity
        marks.append(
            Mark(f"capacity {format.number(point.value)} {format.interval(point.low, point.high)}", x=point.value)
        )
    title = f"{name} against {'clients' if content.closed else 'offered load'}"
    caption = "Every trial is one marker."
    caption += " An arrow at the axis broke and was stopped: it has no latency." if broke else ""
    caption += " An arrow above it is a lower bound: too few requests were answered." if slower else ""
    return PlotView(title, caption, SvgPlot(title, x, y, lines, marks))


def _loads(content: Content, loads: Sequence[float]) -> Axis:
    title = "clients in a closed loop" if content.closed else "offered load (requests/s)"
    return logarithmic(title, loads) if max(loads) > 5 * (min(loads) or 1) else linear(title, loads, zero=False)
