"""What figures over loads share: which trials count, which loads are shown, medians, stacked bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Protocol, TypeVar

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from loadstone.analysis.grouping import grouped
from loadstone.analysis.schema import OfTrial
from loadstone.analysis.summary import TreatmentSummary
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style


class Treated(Protocol):
    """A row of a table of trials."""

    @property
    def treatment(self) -> str:
        """Its treatment's label."""


class AtLoad(Protocol):
    """A row of a table of trials that has the load."""

    @property
    def load(self) -> float:
        """Requests/s, or clients of a closed loop."""


_Valid = TypeVar("_Valid", bound=OfTrial)
_Treated = TypeVar("_Treated", bound=Treated)
MOST_LOADS = 12
"""Bars of one treatment; of more loads as many are shown, spread evenly from the lowest to the highest."""


def valid(content: Content, kind: type[_Valid], *needed: str) -> list[_Valid]:
    """The rows of trials that are not invalid, in which none of the columns is null."""
    rows = [row for row in content.rows(kind) if getattr(row, "verdict") != "invalid"]  # noqa: B009
    return [row for row in rows if all(getattr(row, name) is not None for name in needed)]


def treated(content: Content, rows: Iterable[_Treated]) -> list[tuple[TreatmentSummary, list[_Treated]]]:
    """Treatments that have rows, each with its own."""
    by_label = grouped(rows, lambda row: row.treatment)
    return [(treatment, by_label[treatment.label]) for treatment in content.treatments if treatment.label in by_label]


def shown(loads: Iterable[float], most: int = MOST_LOADS) -> list[float]:
    """At most so many loads, spread evenly over all of them; the lowest and the highest are among them."""
    every = sorted(set(loads))
    if len(every) <= most:
        return every
    return [every[round(place * (len(every) - 1) / (most - 1))] for place in range(most)]


def medians(rows: Iterable[AtLoad], column: str) -> list[tuple[float, float]]:
    """Load and median over its trials, by load."""
    by_load: dict[float, list[float]] = {}
    for row in rows:
        by_load.setdefault(row.load, []).append(getattr(row, column))
    return [(load, median(values)) for load, values in sorted(by_load.items())]


def most(rows: Iterable[object], name: str, column: str, count: int) -> list[str]:
    """The names with the highest value in any row, the highest first."""
    highest: dict[str, float] = {}
    for row in rows:
        highest[getattr(row, name)] = max(getattr(row, column), highest.get(getattr(row, name), 0.0))
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
        name: {"facecolor": style.COLOURS[(first + i) % len(style.COLOURS)]}
        | ({"hatch": "////", "edgecolor": style.QUIET} if i >= len(style.COLOURS) else {})
        for i, name in enumerate(names)
    }


def handles(looks: Mapping[str, dict[str, Any]]) -> list[Patch]:
    """Legend entries of stacked bars, the top part first."""
    return [Patch(label=name, linewidth=0, **look) for name, look in reversed(list(looks.items()))]
