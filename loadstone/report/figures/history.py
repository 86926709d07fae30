"""The course of one quantity over the runs of a study."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.history.series import RunSeries
from loadstone.report.figures import style


def course(series: RunSeries) -> Figure:
    """Each run with its 95 % interval, the changes as lines, other machines as dashed ones."""
    figure, (axes,) = style.panels([""], 1, 2.4)
    colour, change, quiet = style.COLOURS[0], style.COLOURS[1], style.QUIET
    places = list(range(1, len(series.rows) + 1))
    for place, row in zip(places, series.rows, strict=True):
        if row.low is not None and row.high is not None:
            axes.plot([place, place], [row.low, row.high], color=colour, linewidth=1.1, alpha=0.6, zorder=2)
    axes.plot(places, [row.value for row in series.rows], "o", color=colour, markersize=4, zorder=3)
    for at in series.machines:
        axes.axvline(at + 0.5, color=quiet, linestyle="--", linewidth=1, zorder=1)
    for each in series.changes:
        axes.axvline(each.at + 0.5, color=change, linewidth=1.3, zorder=1)
    every = [value for row in series.rows for value in (row.low, row.value, row.high) if value is not None]
    axes.set_ylim(0, 1.1 * max(every))
    axes.set_xlim(0.5, len(places) + 0.5)
    style.plain_scale(axes, "x", [float(place) for place in places], log=False)
    style.plain_scale(axes, "y", every, log=False)
    axes.set_xlabel("run, in the order they were started")
    axes.set_ylabel(f"{name(series)} ({series.unit})")
    handles = [Line2D([], [], color=colour, marker="o", markersize=4, linewidth=1.1, label="run, 95 % interval")]
    if series.changes:
        handles.append(Line2D([], [], color=change, linewidth=1.3, label="change"))
    if series.machines:
        handles.append(Line2D([], [], color=quiet, linestyle="--", linewidth=1, label="another machine"))
    style.legend(figure, handles)
    return figure


def name(series: RunSeries) -> str:
    """``P99``, ``capacity``."""
    return series.quantity.upper() if series.unit == "ms" else series.quantity
