"""The course of the machine's speed over a run."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.drift import SpeedReading
from loadstone.report.content import Content
from loadstone.report.figures import style


def course(content: Content) -> Figure | None:
    """The time of the reference loop before, after and during each trial, with its running median."""
    rows = content.rows(SpeedReading)
    if not rows:
        return None
    figure, (axes,) = style.panels([""], 1, 2.4)
    order = [row.order for row in rows]
    looks = {
        "before_ms": ("before the load", "o", style.COLOURS[0]),
        "after_ms": ("after it", "x", style.COLOURS[1]),
        "during_ms": ("during it", "s", style.COLOURS[2]),
    }
    looks = {name: look for name, look in looks.items() if any(getattr(row, name) is not None for row in rows)}
    for name, (_, marker, colour) in looks.items():
        timed = [row for row in rows if getattr(row, name) is not None]
        y = [getattr(row, name) for row in timed]
        axes.scatter([row.order for row in timed], y, marker=marker, s=16, color=colour, lw=1, zorder=3)
    axes.plot(order, [row.smoothed_ms for row in rows], color=style.INK, linewidth=1.3, zorder=2)
    every = [getattr(row, name) for row in rows for name in looks if getattr(row, name) is not None]
    axes.set_ylim(0, 1.1 * max(every))
    style.plain_scale(axes, "x", [float(value) for value in order], log=False)
    style.plain_scale(axes, "y", every, log=False)
    axes.set_xlabel("trial, in the order they were run")
    axes.set_ylabel("reference loop (ms)")
    dots = [Line2D([], [], linestyle="", marker=m, color=c, markersize=4, label=name) for name, m, c in looks.values()]
    style.legend(figure, [*dots, Line2D([], [], color=style.INK, linewidth=1.3, label="median of three trials")])
    return figure
