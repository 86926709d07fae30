"""What figures over loads share: which trials count, which loads are shown, medians, stacked bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from loadstone.analysis.summary import TreatmentSummary
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style

Rows = list[dict[str, Any]]
MOST_LOADS = 8
"""Bars of one treatment; of more loads as many are shown, spread evenly from the lowest to the highest."""


def valid(content: Content, table: str, *needed: str) -> Rows:
    """The rows of trials that are not invalid, in which none of the columns is null."""
    rows = content.rows(table)
    return [row for row in rows if row["verdict"] != "invalid" and all(row[name] is not None for name in needed)]


def treated(content: Content, rows: Rows) -> list[tuple[TreatmentSummary, Rows]]:
    """Treatments that have rows, each with its own."""
    pairs = [
        (treatment, [row for row in rows if row["treatment"] == treatment.label]) for treatment in content.treatments
    ]
    return [(treatment, mine) for treatment, mine in pairs if mine]


def shown(loads: Iterable[float], most: int = MOST_LOADS) -> list[float]:
    """At most so many loads, spread evenly over all of them; the lowest and the highest are among them."""
    every = sorted(set(loads))
    if len(every) <= most:
        return every
    return [every[round(place * (len(every) - 1) / (most - 1))] for place in range(most)]


def medians(rows: Rows, column: str) -> list[tuple[float, float]]:
    """Load and median over its trials, by load."""
    by_load: dict[float, list[float]] = {}
    for row in rows:
        by_load.setdefault(row["load"], []).append(row[column])
    return [(load, median(values)) for load, values in sorted(by_load.items())]


def most(rows: Rows, name: str, column: str, count: int) -> list[str]:
    """The names with the highest value in any row, the highest first."""
    highest: dict[str, float] = {}
    for row in rows:
        highest[row[name]] = max(row[column], highest.get(row[name], 0.0))
    return sorted(highest, key=lambda name: -highest[name])[:count]


def stacked(axes: Axes, loads: Sequence[float], parts: Mapping[str, Sequence[float]], looks: Mapping[str, Any]) -> None:
    """A bar for each load, of parts on each other in their order."""
    bottom = [0.0] * len(loads)
    for name, heights in parts.items():
        axes.bar(range(len(loads)), heights, bottom=bottom, width=0.72, linewidth=0, **looks[name])
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    axes.set_xticks(range(len(loads)), [format.number(load) for load in loads])
    axes.tick_params(axis="x", rotation=45 if len(loads) > 5 else 0)
    axes.grid(axis="x", visible=False)
    axes.margins(x=0.03)


def looks(names: Sequence[str], first: int = 0) -> dict[str, dict[str, Any]]:
    """A colour for each name; from the seventh on they are hatched as well."""
    return {
        name: {"color": style.COLOURS[(first + i) % len(style.COLOURS)]}
        | ({"hatch": "////", "edgecolor": style.QUIET} if i >= len(style.COLOURS) else {})
        for i, name in enumerate(names)
    }


def handles(looks: Mapping[str, dict[str, Any]]) -> list[Patch]:
    """Legend entries of stacked bars, the top part first."""
    return [Patch(label=name, linewidth=0, **look) for name, look in reversed(list(looks.items()))]
