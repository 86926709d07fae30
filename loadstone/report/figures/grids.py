"""Two factors whose levels are numbers, such as threads and connections: what each pair of them came to, as a map."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadstone.analysis.curves import CurvePoint
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import heat, style
from loadstone.report.figures.names import factors, numeric


def percentiles(content: Content) -> Figure | None:
    """A grid of the percentile of latency that the SLO limits."""
    return _figure(content, content.percentile[0])


def means(content: Content) -> Figure | None:
    """A grid of the mean latency."""
    return _figure(content, "mean_ms")


def _figure(content: Content, quantity: str) -> Figure | None:
    """A panel for each load and combination of the other factors; the last two of the numbers are its sides."""
    points = {(point.treatment, point.load): point.median for point in content.rows(CurvePoint, quantity=quantity)}
    treatments = [t for t in content.treatments if any(label == t.label for label, _ in points)]
    sides = numeric(treatments)[-2:]
    if len(sides) < 2:
        return None
    down, across = sides
    others = [name for name in factors(treatments) if name not in sides]
    panels: dict[str, dict[tuple[float, float], float]] = {}
    for treatment in treatments:
        for load in sorted(load for label, load in points if label == treatment.label):
            title = " · ".join([*(treatment.levels[name] for name in others), f"{format.number(load)} req/s"])
            cell = float(treatment.levels[down]), float(treatment.levels[across])
            panels.setdefault(title, {})[cell] = points[treatment.label, load]
    rows, columns = (sorted({float(treatment.levels[side]) for treatment in treatments}) for side in sides)
    height = max(1.7, 0.34 * len(rows) + 1.1)
    figure, axes = style.panels(list(panels), 3, height, style.wide() if len(panels) > 1 else style.width())
    for each, cells in zip(axes, panels.values(), strict=True):
        _map(each, cells, rows, columns)
        each.set_xlabel(across.removeprefix("load."))
        each.set_ylabel(down.removeprefix("load."))
    return figure


def _map(axes: Axes, cells: dict[tuple[float, float], float], rows: list[float], columns: list[float]) -> None:
    """Darker is slower, by the logarithm; each cell has its number."""
    grid = np.full((len(rows), len(columns)), np.nan)
    for (row, column), value in cells.items():
        grid[rows.index(row), columns.index(column)] = math.log(value)
    low, high = np.nanmin(grid), np.nanmax(grid)
    axes.imshow(grid, origin="lower", aspect="auto", cmap=heat.COLOURS, vmin=low - 0.3, vmax=max(high, low + 1) + 1)
    for (row, column), value in cells.items():
        place = (columns.index(column), rows.index(row))
        axes.annotate(format.number(value), place, ha="center", va="center", fontsize=7.5, color=style.INK)
    axes.set_xticks(range(len(columns)), [format.number(column) for column in columns])
    axes.set_yticks(range(len(rows)), [format.number(row) for row in rows])
    axes.grid(visible=False)
