"""Short names for treatments, and which of them share a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loadstone.analysis.summary import TreatmentSummary
from loadstone.report.figures.style import COLOURS

ON_ONE_PANEL = len(COLOURS)
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))


@dataclass(frozen=True)
class TreatmentSeries:
    """A treatment as a figure shows it; colour and line style differ together."""

    treatment: TreatmentSummary
    name: str
    colour: str
    line: Any


def short(treatment: TreatmentSummary) -> str:
    """``swarm · vertical``: levels only, as the factors are named elsewhere."""
    return " · ".join(treatment.levels.values()) or treatment.label


def panelled(treatments: list[TreatmentSummary]) -> list[tuple[str, list[TreatmentSeries]]]:
    """Treatments with trials, by panel: all on one while colours last, else a panel per level of the first factor."""
    shown = [treatment for treatment in treatments if len(treatment.trials)]
    if len(shown) <= ON_ONE_PANEL or any(len(treatment.levels) < 2 for treatment in shown):
        return [("", _series(shown, [short(treatment) for treatment in shown]))] if shown else []
    by_level: dict[str, list[TreatmentSummary]] = {}
    for treatment in shown:
        name, level = next(iter(treatment.levels.items()))
        by_level.setdefault(f"{name}: {level}", []).append(treatment)
    return [
        (title, _series(some, [_without_first(treatment) for treatment in some])) for title, some in by_level.items()
    ]


def _without_first(treatment: TreatmentSummary) -> str:
    return " · ".join(list(treatment.levels.values())[1:])


def _series(treatments: list[TreatmentSummary], names: list[str]) -> list[TreatmentSeries]:
    return [
        TreatmentSeries(treatment, name, COLOURS[index % len(COLOURS)], LINES[index % len(LINES)])
        for index, (treatment, name) in enumerate(zip(treatments, names, strict=True))
    ]
