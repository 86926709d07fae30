"""Latency, throughput and the probability to hold, each against the offered load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.latency import LoadPoint
from loadstone.report import format
from loadstone.report.content import Content, HoldPoint
from loadstone.report.figures import style
from loadstone.report.figures.names import TreatmentSeries, panelled, short

_Points = Sequence[LoadPoint]


def latency(content: Content) -> Figure | None:
    """The SLO's percentile against the load, with its limit and each capacity's interval."""
    column, name, limit = content.percentile
    rows, broken = _points(content, column)
    if not rows:
        return None
    figure, pairs = _panels(content)
    for axes, series in pairs:
        for group in series:
            _capacity(axes, group)
            _trials(axes, group, rows, broken, column)
        objective(axes, content)
        style.plain_scale(axes, "x", [row.load for row in (*rows, *broken)])
        style.plain_scale(axes, "y", [getattr(row, column) for row in rows] + [limit], log=True)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(f"{name} latency{', closed loop' if content.closed else ''} (ms)")
    _legend(figure, pairs[0][1], rows, broken)
    return figure


def throughput(content: Content) -> Figure | None:
    """Completed against offered requests/s, with the line on which all are completed; a closed loop has none."""
    rows, broken = _points(content, "throughput")
    if not rows:
        return None
    figure, pairs = _panels(content)
    for axes, series in pairs:
        loads = [row.load for row in (*rows, *broken)]
        if not content.closed:
            axes.plot([min(loads), max(loads)], [min(loads), max(loads)], color=style.QUIET, linewidth=1, zorder=1)
        for group in series:
            _trials(axes, group, rows, broken, "throughput")
        style.plain_scale(axes, "x", loads, log=False)
        style.plain_scale(axes, "y", [row.throughput for row in rows] if content.closed else loads, log=False)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel("completed (requests/s)")
    ideal = [] if content.closed else [Line2D([], [], color=style.QUIET, linewidth=1, label="all completed")]
    _legend(figure, pairs[0][1], rows, broken, *ideal)
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
        if capacity := _capacity(axes, TreatmentSeries(treatment, "", style.COLOURS[2], "-")):
            name = f"{short(treatment)}\n" if len(found) > 1 else ""
            axes.set_title(f"{name}{format.number(capacity.value)} {format.interval(capacity.low, capacity.high)}")
        full = [row for row in treatment.trials if row.phase in ("fine", "confirm")]
        for verdict, level, step in (("held", 1.05, 0.035), ("not held", -0.05, -0.035)):
            loads = [row.rate for row in full if row.verdict == verdict and load[0] <= row.rate <= load[-1]]
            places = _stacked(loads, level, step)
            style.scatter(axes, places, verdict, style.INK)
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


def _panels(content: Content) -> tuple[Figure, list[tuple[Axes, list[TreatmentSeries]]]]:
    groups = panelled(content.treatments)
    figure, axes = style.panels([title for title, _ in groups], 2, sharex=True, sharey=True)
    return figure, [(axis, series) for axis, (_, series) in zip(axes, groups, strict=True)]


def _points(content: Content, column: str) -> tuple[list[LoadPoint], list[LoadPoint]]:
    """The trials that have a value, and those that broke and were stopped before they had one."""
    rows = content.rows(LoadPoint)
    valued = [row for row in rows if getattr(row, column) is not None]
    return valued, [row for row in rows if row.aborted_at_s is not None]


def _trials(
    axes: Axes, series: TreatmentSeries, every: Sequence[LoadPoint], broken: Sequence[LoadPoint], column: str
) -> None:
    """Every trial of the treatment as a marker; at fixed loads a line through the medians of the valid ones."""
    rows, stopped = ([row for row in some if row.treatment == series.treatment.label] for some in (every, broken))
    for invalid in (False, True):
        loads = [row.load for row in stopped if (row.verdict == "invalid") is invalid]
        style.broken(axes, loads, style.QUIET if invalid else series.colour)
    for verdict in style.VERDICTS:
        points = [(row.load, getattr(row, column)) for row in rows if row.verdict == verdict]
        style.scatter(axes, points, verdict, series.colour)
    by_load: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        if row.phase in ("fixed", "closed") and row.verdict != "invalid":
            by_load[row.load].append(getattr(row, column))
    medians = sorted((load, median(values)) for load, values in by_load.items())
    axes.plot(*zip(*medians, strict=True), color=series.colour, linestyle=series.line, lw=1.2) if medians else None


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


def _legend(figure: Figure, series: list[TreatmentSeries], rows: _Points, broken: _Points, *more: Line2D) -> None:
    lines = [Line2D([], [], color=group.colour, linestyle=group.line, label=group.name) for group in series]
    treatments = lines if len(lines) > 1 else []
    arrow = [style.broken_handle()] if broken else []
    style.legend(figure, [*treatments, *style.verdict_handles({row.verdict for row in rows}), *arrow, *more])


def _stacked(loads: list[float], level: float, step: float) -> list[tuple[float, float]]:
    """Trials at equal loads beside each other instead of on top of each other."""
    seen: dict[float, int] = defaultdict(int)
    places = []
    for load in sorted(loads):
        places.append((load, level + step * seen[load]))
        seen[load] += 1
    return places
