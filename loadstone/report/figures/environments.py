"""Percentile curves of environments, laid over each other."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.environments import EnvironmentPercentileRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import LINES
from loadstone.report.figures.spectrum import TICKS, nines

MOST = 6
"""Panels; what is beyond stands in the table only."""
_TITLE = 34
"""Characters in a line of a panel's title."""


def panels_of(rows: Iterable[EnvironmentPercentileRow]) -> dict[str, list[EnvironmentPercentileRow]]:
    """The rows by panel: one a load and combination of the other factors' levels."""
    found: dict[str, list[EnvironmentPercentileRow]] = {}
    for row in rows:
        title = fill(f"{row.beside} at {format.load(row)}" if row.beside else f"at {format.load(row)}", _TITLE)
        found.setdefault(title, []).append(row)
    return found


def curves(content: Content) -> Figure | None:
    """One panel a load, one line an environment."""
    shown = dict(list(panels_of(content.rows(EnvironmentPercentileRow)).items())[:MOST])
    every = [row for rows in shown.values() for row in rows]
    if not every:
        return None
    names = list(dict.fromkeys(row.environment for row in every))
    figure, panels = style.panels(list(shown), 2, None, style.wide(), sharex=True, sharey=True)
    highest = max(row.percentile for row in every)
    ticks = [tick for tick in TICKS if tick <= highest]
    for axes, rows in zip(panels, shown.values(), strict=True):
        for place, name in enumerate(names):
            _curve(axes, [row for row in rows if row.environment == name], place)
        axes.set_xticks([nines(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        style.plain_scale(axes, "y", [row.latency_ms for row in every], log=True)
        axes.set_xlabel(f"percentile of the {'answers' if content.closed else 'scheduled requests'}")
        axes.set_ylabel(f"latency{', closed loop' if content.closed else ''} (ms)")
    style.legend(
        figure,
        [Line2D([], [], color=_colour(place), linestyle=_line(place), label=name) for place, name in enumerate(names)],
    )
    return figure


def _curve(axes: Axes, rows: list[EnvironmentPercentileRow], place: int) -> None:
    x = [nines(row.percentile) for row in rows]
    axes.plot(x, [row.latency_ms for row in rows], color=_colour(place), linestyle=_line(place), linewidth=1.6)
    low, high = [style.known(row.latency_ms_low) for row in rows], [style.known(row.latency_ms_high) for row in rows]
    axes.fill_between(x, low, high, color=_colour(place), alpha=0.18, linewidth=0)


def _colour(place: int) -> str:
    return style.COLOURS[place % len(style.COLOURS)]


def _line(place: int) -> Any:
    return LINES[place % len(LINES)]
