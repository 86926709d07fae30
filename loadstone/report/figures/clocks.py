"""How far each node's clock may be off, over the time of a run."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.metrics.clock_errors import ClockErrorRow
from loadstone.model.base import by_number
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import LINES

MOST = len(style.COLOURS)
_GAP_S = 60
"""Between two trials nothing is recorded: from so long on no line joins two points."""


def errors(content: Content) -> Figure | None:
    """A line a node, the largest error of each ten seconds; the nodes with the largest are drawn."""
    rows = sorted(content.rows(ClockErrorRow), key=lambda row: row.time_s)
    if not rows:
        return None
    worst: dict[str, float] = {}
    for row in rows:
        worst[row.node] = max(worst.get(row.node, 0.0), row.error_us)
    nodes = sorted(sorted(worst, key=lambda node: -worst[node])[:MOST], key=by_number)
    first = rows[0].time_s
    figure, [axes] = style.panels([""], 1)
    for place, node in enumerate(nodes):
        mine = [row for row in rows if row.node == node]
        x, y = [mine[0].time_s], [mine[0].error_us]
        for before, row in pairwise(mine):
            if row.time_s - before.time_s > _GAP_S:
                x, y = [*x, row.time_s], [*y, float("nan")]
            x, y = [*x, row.time_s], [*y, row.error_us]
        minutes = [(moment - first) / 60 for moment in x]
        look = {"color": style.COLOURS[place], "linestyle": LINES[place]}
        axes.plot(minutes, y, linewidth=1.2, marker=".", markersize=3, **look)
    axes.set_xlabel("time since the first reading (min)")
    axes.set_ylabel("estimated error at most (us)")
    style.plain_scale(axes, "y", [row.error_us for row in rows if row.node in nodes])
    style.legend(
        figure,
        [
            Line2D([], [], color=style.COLOURS[place], linestyle=LINES[place], label=node)
            for place, node in enumerate(nodes)
        ],
    )
    return figure
