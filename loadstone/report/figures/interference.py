"""Latency and throughput beside each neighbour, with the processor time of the neighbour itself."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.interference import InterferenceRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import intervals, style
from loadstone.report.figures.names import short

MOST = 12
"""Treatments that are drawn; all stand in the table."""
_PANELS = {"p50_ms": "P50 latency (ms)", "p99_ms": "P99 latency (ms)", "throughput": "completed (requests/s)"}
_NEIGHBOURS = "CPU of neighbours (cores)"
_LABEL = 22
"""Characters in a line of a treatment's name."""
_BAND = 0.6
"""The part of a treatment's room in which its loads are spread."""


def drawn(rows: Sequence[InterferenceRow]) -> list[str]:
    """The treatments that have a latency to draw, in their order."""
    return list(dict.fromkeys(row.treatment for row in rows if row.p50_ms is not None))


def levels(content: Content) -> Figure | None:
    """One panel a quantity, one line a treatment, one colour a load."""
    rows = content.rows(InterferenceRow)
    treatments = drawn(rows)[:MOST]
    if not treatments:
        return None
    rows = [row for row in rows if row.treatment in treatments]
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    loads = sorted({_load(row) for row in rows})
    titles = [*_PANELS.values(), _NEIGHBOURS]
    figure, panels = style.panels(titles, 2, 0.9 + 0.36 * len(treatments), style.wide(), sharey=True)
    for axes, column in zip(panels, [*_PANELS, None], strict=True):
        for row in rows:
            place = loads.index(_load(row))
            y = treatments.index(row.treatment) + _BAND * ((place + 0.5) / len(loads) - 0.5)
            colour = style.COLOURS[place % len(style.COLOURS)]
            if column is None:
                axes.barh(y, row.cpu_cores or 0.0, _BAND / len(loads), color=colour, linewidth=0)
            else:
                _point(axes, y, row, column, colour)
        axes.set_yticks(range(len(treatments)), [fill(names[treatment], _LABEL) for treatment in treatments])
        axes.set_ylim(len(treatments) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        if column is not None:
            _limit(axes, rows, column)
    if len(loads) > 1:
        colours = [style.COLOURS[place % len(style.COLOURS)] for place in range(len(loads))]
        texts = [format.clients(load) if content.closed else format.rate(load) for load in loads]
        style.legend(
            figure,
            [Line2D([], [], color=colour, marker="o", label=text) for colour, text in zip(colours, texts, strict=True)],
        )
    return figure


def _load(row: InterferenceRow) -> float:
    return float(row.clients or row.rate or 0.0)


def _point(axes: Axes, y: float, row: InterferenceRow, column: str, colour: str) -> None:
    value, low, high = (getattr(row, f"{column}{end}") for end in ("", "_low", "_high"))
    if value is None:
        return
    if low is not None:
        intervals.line(axes, [low, high], [y, y], color=colour, linewidth=1.4)
    axes.plot([value], [y], "o", color=colour, markersize=5)


def _limit(axes: Axes, rows: Sequence[InterferenceRow], column: str) -> None:
    """From 0; few runs have wide intervals, which must not push the points together."""
    values = [value for row in rows if (value := getattr(row, column)) is not None]
    ends = [end for row in rows if (end := getattr(row, f"{column}_high")) is not None]
    axes.set_xlim(0, 1.08 * min(max([*values, *ends]), 1.5 * max(values)))
    axes.locator_params(axis="x", nbins=5)
