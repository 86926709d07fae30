"""Latency, throughput and the probability to hold, each against the offered load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.confirmation import FULL
from loadstone.analysis.curves import CurvePoint
from loadstone.analysis.latency import LoadPoint
from loadstone.model.records.bounds import only_bounded
from loadstone.report import format
from loadstone.report.content import Content, HoldPoint
from loadstone.report.figures import intervals, style
from loadstone.report.figures.names import TreatmentSeries, handles, panelled, short

_Points = Sequence[LoadPoint]


def latency(content: Content) -> Figure | None:
    """The SLO's percentile against the load, with its limit and each capacity's interval."""
    column, name, limit = content.percentile
    rows, broken = _points(content, column)
    slower = [row for row in content.rows(LoadPoint) if only_bounded(row, column)]
    if not rows:
        return None
    lines = content.rows(CurvePoint, quantity=column)
    figure, pairs = panels(content)
    for axes, series in pairs:
        for group in series:
            _capacity(axes, group)
            curve(axes, group, lines)
            _trials(axes, group, rows, broken, column)
            _bounds(axes, group, slower)
        objective(axes, content)
        style.plain_scale(axes, "x", _of(series, (*rows, *broken, *slower), "load"))
        above = [style.REACH * bound for bound in _of(series, slower, "latency_bound_ms")]
        latencies = _of(series, rows, column) + above
        style.plain_scale(axes, "y", [*latencies, limit], log=True)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(f"{name} latency{', closed loop' if content.closed else ''} (ms)")
    _legend(figure, content, rows, broken, *([style.arrow_handle(style.SLOWER)] if slower else []))
    return figure


def throughput(content: Content) -> Figure | None:
    """Completed against offered requests/s, with the line on which all are completed; a closed loop has none."""
    rows, broken = _points(content, "throughput")
    if not rows:
        return None
    lines = content.rows(CurvePoint, quantity="throughput")
    figure, pairs = panels(content)
    for axes, series in pairs:
        loads = _of(series, (*rows, *broken), "load")
        if not content.closed:
            axes.plot([min(loads), max(loads)], [min(loads), max(loads)], color=style.QUIET, linewidth=1, zorder=1)
        for group in series:
            curve(axes, group, lines)
            _trials(axes, group, rows, broken, "throughput")
        style.plain_scale(axes, "x", loads, log=False)
        style.plain_scale(axes, "y", _of(series, rows, "throughput") if content.closed else loads, log=False)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel("completed (requests/s)")
    ideal = [] if content.closed else [Line2D([], [], color=style.QUIET, linewidth=1, label="all completed")]
    _legend(figure, content, rows, broken, *ideal)
    return figure


def holding(content: Content) -> Figure | None:
    """The posterior of P(hold) around each capacity and breaking point, with the full trials that it comes from."""
    found = [t for t in content.treatments if t.searched is not None and t.searched.result is not None]
    if not found:
        return None
    titles = [short(treatment) for treatment in found]
    figure, panels = style.panels(titles, 3, style.HEIGHT if len(found) == 1 else 2.6, sharey=True)
    for index, (axes, treatment) in enumerate(zip(panels, found, strict=True)):
        rows = content.rows(HoldPoint, treatment=treatment.label)
        load = [row.load for row in rows]
        colour = style.COLOURS[0]
        axes.fill_between(load, [r.low for r in rows], [r.high for r in rows], color=colour, alpha=0.18, lw=0)
        axes.plot(load, [row.probability for row in rows], color=colour, linewidth=1.6)
        assert treatment.searched is not None and treatment.searched.result is not None
        _around(axes, treatment.searched.result.breaking_point, style.QUIET, "--")
        if capacity := _capacity(axes, TreatmentSeries(treatment, "", style.COLOURS[2], "-", "")):
            name = f"{short(treatment)}\n" if len(found) > 1 else ""
            axes.set_title(f"{name}{format.number(capacity.value)} {format.interval(capacity.low, capacity.high)}")
        full = [row for row in treatment.trials if row.phase in FULL and load[0] <= row.rate <= load[-1]]
        for verdict, level, step in (("held", 1.05, 0.035), ("not held", -0.05, -0.035)):
            shown = sorted((row for row in full if row.verdict == verdict), key=lambda row: row.rate)
            places = list(zip(shown, _stacked([row.rate for row in shown], level, step), strict=True))
            for colour, unusual in ((style.INK, False), (style.PALE, True)):
                drawn = [place for row, place in places if treatment.searched.unusual(row) == unusual]
                style.scatter(axes, drawn, verdict, colour)
        style.plain_scale(axes, "x", load, log=False)
        axes.locator_params(axis="x", nbins=6 if len(found) == 1 else 3)
        axes.set_yticks([0, 0.5, 0.95], ["0 %", "50 %", "95 %"])
        axes.set_xlabel("offered load (requests/s)")
        if index % 3 == 0:
            axes.set_ylabel("probability that a trial holds")
    band = Line2D([], [], color=style.COLOURS[0], linewidth=1.6, label="posterior, 95 % band")
    lines = [Line2D([], [], color=style.COLOURS[2], label="capacity")]
    lines += [Line2D([], [], color=style.QUIET, linestyle="--", label="breaking point")]
    style.legend(figure, [band, *lines, *style.verdict_handles({"held", "not held"})])
    return figure


def objective(axes: Axes, content: Content) -> None:
    """A line at the SLO's limit of the latency that is shown; none without one."""
    _, name, limit = content.percentile
    if limit is None:
        return
    axes.axhline(limit, color=style.INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    text, at = f"SLO: {name} ≤ {format.milliseconds(limit)}", ("axes fraction", "data")
    axes.annotate(text, (0, limit), (3, 3), xycoords=at, textcoords="offset points", fontsize=8)


def load_label(content: Content) -> str:
    """The label of the axis of loads."""
    return "clients in a closed loop" if content.closed else "offered load (requests/s)"


def panels(content: Content) -> tuple[Figure, list[tuple[Axes, list[TreatmentSeries]]]]:
    """A panel for each group of treatments, with the same loads where the application is the same."""
    groups = panelled(content.treatments)
    alike = len({treatment.application for treatment in content.treatments}) == 1
    figure, axes = style.panels([title for title, _ in groups], 2, sharex=alike, sharey=alike)
    return figure, [(axis, series) for axis, (_, series) in zip(axes, groups, strict=True)]


def curve(axes: Axes, series: TreatmentSeries, every: Sequence[CurvePoint], scale: float = 1.0) -> None:
    """Draws one quantity at fixed loads: a line through the means with their 95 % band, a marker at each median."""
    points = [point for point in every if point.treatment == series.treatment.label]
    if not points:
        return
    loads = [point.load for point in points]
    low, high = ([scale * style.known(getattr(point, end)) for point in points] for end in ("low", "high"))
    intervals.band(axes, loads, low, high, color=series.colour, alpha=0.15, linewidth=0, zorder=1)
    look: dict[str, Any] = {"color": series.colour, "zorder": 4}
    axes.plot(loads, [scale * point.mean for point in points], linestyle=series.line, lw=1.2, **look)
    medians = [scale * point.median for point in points]
    edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.5}
    axes.plot(loads, medians, linestyle="", marker=series.marker, markersize=5, **edge, **look)


def _points(content: Content, column: str) -> tuple[list[LoadPoint], list[LoadPoint]]:
    """The trials that have a value, and those that broke and were stopped before they had one."""
    rows = content.rows(LoadPoint)
    valued = [row for row in rows if getattr(row, column) is not None]
    return valued, [row for row in rows if row.aborted_at_s is not None]


def _bounds(axes: Axes, series: TreatmentSeries, every: Sequence[LoadPoint]) -> None:
    """Trials of whose latency only a lower bound is known, as arrows from it."""
    rows = [row for row in every if row.treatment == series.treatment.label]
    for invalid in (False, True):
        mine = [row for row in rows if (row.verdict == "invalid") is invalid]
        points = [(row.load, row.latency_bound_ms or 0.0) for row in mine]
        style.bounded(axes, points, style.QUIET if invalid else series.colour)


def _of(series: Sequence[TreatmentSeries], rows: Sequence[LoadPoint], column: str) -> list[float]:
    """A column of the treatments of one panel."""
    labels = {group.treatment.label for group in series}
    return [getattr(row, column) for row in rows if row.treatment in labels]


def _trials(
    axes: Axes, series: TreatmentSeries, every: Sequence[LoadPoint], broken: Sequence[LoadPoint], column: str
) -> None:
    """Every trial of the treatment as a marker of its verdict: a small one where a curve goes through their medians."""
    rows, stopped = ([row for row in some if row.treatment == series.treatment.label] for some in (every, broken))
    for invalid in (False, True):
        loads = [row.load for row in stopped if (row.verdict == "invalid") is invalid]
        style.broken(axes, loads, style.QUIET if invalid else series.colour)
    for verdict in style.VERDICTS:
        points = [(row.load, getattr(row, column)) for row in rows if row.verdict == verdict]
        style.scatter(axes, points, verdict, series.colour, small=any(row.phase in ("fixed", "closed") for row in rows))


def _capacity(axes: Axes, series: TreatmentSeries) -> Estimate | None:
    searched = series.treatment.searched
    if searched is None or searched.result is None:
        return None
    _around(axes, searched.result.capacity, series.colour, series.line)
    return searched.result.capacity


def _around(axes: Axes, load: Estimate, colour: str, line: str) -> None:
    """A line at an estimate, with its interval as a band."""
    axes.axvspan(load.low, load.high, color=colour, alpha=0.13, linewidth=0, zorder=0)
    axes.axvline(load.value, color=colour, linestyle=line, linewidth=1, zorder=1)


def _legend(figure: Figure, content: Content, rows: _Points, broken: _Points, *more: Line2D) -> None:
    arrow = [style.arrow_handle(style.BROKE)] if broken else []
    verdicts = style.verdict_handles({row.verdict for row in rows})
    style.legend(figure, [*handles(panelled(content.treatments)), *verdicts, *arrow, *more])


def _stacked(loads: list[float], level: float, step: float) -> list[tuple[float, float]]:
    """Trials at equal loads beside each other instead of on top of each other."""
    seen: dict[float, int] = defaultdict(int)
    places = []
    for load in sorted(loads):
        places.append((load, level + step * seen[load]))
        seen[load] += 1
    return places
