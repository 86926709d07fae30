"""Short names for treatments, and which of them share a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadstone.analysis.summary import Treatment
from loadstone.report.figures.style import COLOURS

ON_ONE_PANEL = len(COLOURS)
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))


@dataclass(frozen=True)
class Series:
    """A treatment as a figure shows it; colour and line style differ together."""

    treatment: Treatment
    name: str
    colour: str
    line: Any


def short(treatment: Treatment) -> str:
    """``swarm · vertical``: levels alone where the factors are said elsewhere."""
    return " · ".join(treatment.levels.values()) or treatment.label


def panelled(treatments: list[Treatment]) -> list[tuple[str, list[Series]]]:
    """Treatments with trials, by panel: all on one while colours last, else a panel per level of the first factor."""
    shown = [treatment for treatment in treatments if len(treatment.trials)]
    if len(shown) <= ON_ONE_PANEL or any(len(treatment.levels) < 2 for treatment in shown):
        return [("", _series(shown, [short(treatment) for treatment in shown]))] if shown else []
    by_level: dict[str, list[Treatment]] = {}
    for treatment in shown:
        name, level = next(iter(treatment.levels.items()))
        by_level.setdefault(f"{name}: {level}", []).append(treatment)
    return [
        (title, _series(some, [_without_first(treatment) for treatment in some])) for title, some in by_level.items()
    ]


def _without_first(treatment: Treatment) -> str:
    return " · ".join(list(treatment.levels.values())[1:])


def _series(treatments: list[Treatment], names: list[str]) -> list[Series]:
    return [
        Series(treatment, name, COLOURS[index % len(COLOURS)], LINES[index % len(LINES)])
        for index, (treatment, name) in enumerate(zip(treatments, names, strict=True))
    ]
