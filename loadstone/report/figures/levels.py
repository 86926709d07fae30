"""How well a known difference shows: p-values and statistics of pairs of runs over the levels of a numeric factor."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.distribution_rows import LevelDistanceRow
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.distributions import at_load
from loadstone.report.figures.names import LINES, in_lines

THRESHOLD = 0.01
"""The p-value below which the study called two runs different."""
MOST_SPANS = 3
_PANELS = {"ad_p": "AD p-value", "ks_p": "KS p-value", "ad": "AD statistic", "ks": "KS statistic"}


def accuracy(content: Content) -> Figure | None:
    """Four panels a span: mean over pairs of runs as a line, from the least to the greatest as bars."""
    rows = at_load(content.rows(LevelDistanceRow))
    spans = list(dict.fromkeys(row.span for row in rows))[:MOST_SPANS]
    if not spans:
        return None
    beside = list(dict.fromkeys(row.beside for row in rows))[: len(style.COLOURS)]
    titles = [
        in_lines(f"{title}, {span}" if len(spans) > 1 else title, 26) for span in spans for title in _PANELS.values()
    ]
    figure, panels = style.panels(titles, 2, 2.4 if len(spans) == 1 else 2.7)
    for place, axes in enumerate(panels):
        span, column = spans[place // len(_PANELS)], list(_PANELS)[place % len(_PANELS)]
        for index, other in enumerate(beside):
            _series(axes, [row for row in rows if (row.span, row.beside) == (span, other)], column, index)
        if column.endswith("_p"):
            axes.axhline(THRESHOLD, color=style.QUIET, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
            axes.set_yscale("symlog", linthresh=1e-3)
            axes.set_yticks([0, 1e-3, 1e-2, 1e-1, 1], ["0", "0.001", "0.01", "0.1", "1"])
            axes.set_ylim(-2e-4, 1.6)
        axes.set_xlabel(f"{rows[0].factor}{f' ({rows[0].unit})' if rows[0].unit else ''}")
    handles = [Line2D([], [], color=style.QUIET, linestyle=(0, (4, 2)), label=f"p = {THRESHOLD:g}")]
    if len(beside) > 1:
        handles = [
            Line2D([], [], color=style.COLOURS[index], linestyle=LINES[index], label=other)
            for index, other in enumerate(beside)
        ] + handles
    style.legend(figure, handles)
    return figure


def _series(axes: Axes, rows: Sequence[LevelDistanceRow], column: str, index: int) -> None:
    amounts = [row.amount for row in rows]
    low, middle, high = ([getattr(row, f"{column}_{end}") for row in rows] for end in ("min", "mean", "max"))
    colour = style.COLOURS[index]
    axes.vlines(amounts, low, high, color=colour, linewidth=1.3, alpha=0.7)
    axes.plot(amounts, middle, color=colour, linestyle=LINES[index], linewidth=1.4, marker="o", markersize=4)
