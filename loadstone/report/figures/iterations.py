"""The time of an iteration over the iterations: a line for each number of clients, a band over the clients."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.iterations import IterationPoint
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.names import LINES, short

MOST = 6
"""Panels; what is beyond stands in the table only."""


def durations(content: Content) -> Figure | None:
    """One panel for each treatment; None where no client made a second iteration."""
    rows = content.rows(IterationPoint)
    shown = loads.treated(content, rows)[:MOST]
    if not shown or max(row.iteration for row in rows) < 2:
        return None
    numbers = sorted({row.clients for row in rows})
    looks = {
        clients: (style.COLOURS[place % len(style.COLOURS)], LINES[place % len(LINES)])
        for place, clients in enumerate(numbers)
    }
    figure, panels = style.panels([short(treatment) for treatment, _ in shown], 2, sharey=True)
    for axes, (_, mine) in zip(panels, shown, strict=True):
        for clients, (colour, line) in looks.items():
            points = [row for row in mine if row.clients == clients]
            at = [row.iteration for row in points]
            low, high = [row.shortest_s for row in points], [row.longest_s for row in points]
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(at, [row.duration_s for row in points], color=colour, linestyle=line, marker="o", markersize=3)
        axes.set_xlabel("iteration")
        style.plain_scale(axes, "x", [row.iteration for row in mine], log=False)
    panels[0].set_ylabel("time of an iteration (s)")
    every = [end for _, mine in shown for row in mine for end in (row.shortest_s, row.longest_s)]
    for axes in panels:
        style.plain_scale(axes, "y", every)
    style.legend(
        figure,
        [
            Line2D([], [], color=colour, linestyle=line, marker="o", markersize=3, label=format.clients(clients))
            for clients, (colour, line) in looks.items()
        ],
    )
    return figure
