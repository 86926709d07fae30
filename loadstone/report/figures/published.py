"""Published values beside those of a run: as points and ranges on one axis, and as percentiles."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.grouping import grouped
from loadstone.analysis.published import PublishedRow
from loadstone.model.records.bounds import RANKED
from loadstone.report.content import Content
from loadstone.report.figures import style

MOST_ROWS, MOST_SPANS = 40, 9
"""What is beyond stands in the table only."""
_ROW = 0.24
"""Inches."""
_THEIRS, _OURS = 0.14, -0.14
"""Offsets as shares of a row's height, so that neither value hides the other."""


def values(content: Content) -> Figure | None:
    """One panel for each unit, one line for each published value that has one of ours."""
    rows = [row for row in content.rows(PublishedRow) if not row.why and row.span is None]
    by_unit = grouped(rows[:MOST_ROWS], lambda row: row.unit)
    if not by_unit:
        return None
    counts = [len(some) for some in by_unit.values()]
    figure = Figure(figsize=(style.wide(), 0.7 + sum(0.75 + _ROW * count for count in counts)), layout="constrained")
    panels = figure.subplots(len(by_unit), 1, squeeze=False, height_ratios=[count + 1.5 for count in counts])[:, 0]
    for axes, (unit, some) in zip(panels, by_unit.items(), strict=True):
        for place, row in enumerate(some):
            _between(axes, -place + _THEIRS, row.published, row.published_low, row.published_high, None)
            _between(axes, -place + _OURS, row.value, row.low, row.high, style.COLOURS[0])
        axes.set_yticks([-place for place in range(len(some))], [_label(row) for row in some])
        axes.set_ylim(0.4 - len(some), 0.6)
        ends = ("published", "published_low", "published_high", "value", "low", "high")
        style.plain_scale(axes, "x", [getattr(row, end) for row in some for end in ends])
        axes.margins(x=0.12)
        axes.set_xlabel(unit or "statistic")
    theirs = Line2D([], [], color=style.QUIET, marker="D", markersize=4.5, markerfacecolor="none", label="published")
    style.legend(figure, [theirs, Line2D([], [], color=style.COLOURS[0], marker="o", markersize=4.5, label="this run")])
    return figure


def _label(row: PublishedRow) -> str:
    at = f", {row.at} req/s" if row.at and row.at != "highest" and row.measure != "iteration_s" else ""
    source = f" ({row.source})" if row.source else ""
    named = f"{row.quantity}{at}{source}\n{row.setting}"
    return named if len(named) < 90 else named[:87] + "..."


def _between(
    axes: Axes, y: float, value: float | None, low: float | None, high: float | None, colour: str | None
) -> None:
    """A value with its interval, or a range; of one that is open, its end as an arrow."""
    look: dict[str, Any] = {"color": colour or style.QUIET, "linewidth": 1.6}
    ends = [end for end in (low, high) if end is not None]
    if len(ends) == 2:
        axes.plot(ends, [y, y], marker="|", markersize=7, **look)
    elif ends and value is None:
        axes.plot(ends, [y], marker=">" if low is not None else "<", markersize=6, **look)
    if value is not None:
        face = look["color"] if colour else "none"
        axes.plot([value], [y], marker="o" if colour else "D", markersize=5, markerfacecolor=face, **look)


def percentiles(content: Content) -> Figure | None:
    """One panel for each span whose percentiles were published and measured."""
    rows = [row for row in content.rows(PublishedRow) if row.span and row.measure in RANKED and not row.why]
    spans = list(dict.fromkeys(row.span for row in rows))[:MOST_SPANS]
    if not spans:
        return None
    names = {row.span: row.quantity.rpartition(", ")[0] for row in rows}
    figure, panels = style.panels([names[span] for span in spans], 3, 2.3, style.wide())
    settings = list(dict.fromkeys(row.setting for row in rows))
    measures = [measure for measure in RANKED if any(row.measure == measure for row in rows)]
    for axes, span in zip(panels, spans, strict=True):
        mine = [row for row in rows if row.span == span]
        for setting in settings:
            some = sorted((r for r in mine if r.setting == setting), key=lambda row: RANKED[row.measure or ""])
            places = [measures.index(row.measure or "") for row in some]
            colour = style.COLOURS[settings.index(setting) % len(style.COLOURS)]
            published: dict[str, Any] = {"marker": "D", "markersize": 4.5, "markerfacecolor": "none", "linestyle": ""}
            axes.plot(places, [style.known(row.published) for row in some], color=colour, **published)
            axes.plot(places, [style.known(row.value) for row in some], color=colour, linewidth=1.5)
        axes.set_xticks(range(len(measures)), ["max" if m == "max" else f"{RANKED[m]:g}" for m in measures])
        style.plain_scale(axes, "y", [value for row in mine for value in (row.published, row.value)], log=True)
        axes.set_ylabel(mine[0].unit)
    style.legend(
        figure,
        [Line2D([], [], color=style.COLOURS[i % len(style.COLOURS)], label=name) for i, name in enumerate(settings)],
    )
    return figure
