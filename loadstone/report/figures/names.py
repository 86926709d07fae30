"""Short names for treatments, and which of them share a panel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D

from loadstone.analysis.summary import TreatmentSummary
from loadstone.report.figures.style import COLOURS

ON_ONE_PANEL = len(COLOURS)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))


@dataclass(frozen=True)
class TreatmentSeries:
    """A treatment as a figure shows it: no other one of its figure has the same colour and line, or the same marker."""

    treatment: TreatmentSummary
    name: str
    colour: str
    line: Any
    marker: str


def short(treatment: TreatmentSummary) -> str:
    """``swarm · vertical · workers 4``: levels, with the factor's name before a number."""
    return _named(treatment, treatment.levels) or treatment.label


def in_lines(text: str, width: int) -> str:
    """In lines of at most ``width`` characters, broken at spaces and before slashes; a longer word stays whole."""
    lines = [""]
    for part in re.findall(r"\s*(?:/[^\s/]*|[^\s/]+)", text):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append(part.lstrip())
        else:
            lines[-1] += part
    return "\n".join(lines)


def _named(treatment: TreatmentSummary, factors: Iterable[str]) -> str:
    return " · ".join(level(name, treatment.levels.get(name, "")) for name in factors)


def level(factor: str, value: str) -> str:
    """A level as a legend has it: ``swarm``, ``workers 4``."""
    return f"{factor.rpartition('.')[2]} {value}" if re.fullmatch(r"[\d.]+\s?[a-zA-Zµ%]{0,3}", value) else value


def panelled(treatments: list[TreatmentSummary]) -> list[tuple[str, list[TreatmentSeries]]]:
    """Treatments with trials, by panel: all on one while colours last, else a panel per level of as many factors as
    it takes, first of the one that chooses the application. The same levels look the same on each panel."""
    groups: dict[str, list[TreatmentSummary]] = {"": [treatment for treatment in treatments if len(treatment.trials)]}
    left = [name for name in factors(groups[""]) if all(name in treatment.levels for treatment in groups[""])]
    apart: list[str] = []
    while len(left) > 1 and max(map(len, groups.values())) > ON_ONE_PANEL:
        apart.append(left.pop(0))
        groups = {}
        for treatment in treatments:
            if len(treatment.trials):
                title = " · ".join(f"{name}: {treatment.levels[name]}" for name in apart)
                groups.setdefault(title, []).append(treatment)
    names = {t.label: _named(t, [name for name in t.levels if name not in apart]) or t.label for t in treatments}
    order = list(dict.fromkeys(names[treatment.label] for some in groups.values() for treatment in some))
    return [
        (title, [_series(treatment, names[treatment.label], order.index(names[treatment.label])) for treatment in some])
        for title, some in groups.items()
        if some
    ]


def factors(treatments: list[TreatmentSummary]) -> list[str]:
    """Those with several levels; one that chooses the application is the first."""
    names = dict.fromkeys(name for treatment in treatments for name in treatment.levels)
    varied = [name for name in names if len({treatment.levels.get(name) for treatment in treatments}) > 1]
    return sorted(varied, key=lambda name: not _chooses_application(name, treatments))


def numeric(treatments: list[TreatmentSummary]) -> list[str]:
    """Those of the varied factors whose levels are all numbers."""
    return [
        name
        for name in factors(treatments)
        if all(re.fullmatch(r"\d+(\.\d+)?", treatment.levels.get(name, "")) for treatment in treatments)
    ]


def _chooses_application(factor: str, treatments: list[TreatmentSummary]) -> bool:
    pairs = {(treatment.levels.get(factor), treatment.application) for treatment in treatments}
    applications = {application for _, application in pairs}
    return len(applications) > 1 and len(pairs) == len({level for level, _ in pairs})


def _series(treatment: TreatmentSummary, name: str, index: int) -> TreatmentSeries:
    """With another line for the same colour."""
    line = LINES[(index + index // len(COLOURS)) % len(LINES)]
    return TreatmentSeries(treatment, name, COLOURS[index % len(COLOURS)], line, MARKERS[index % len(MARKERS)])


def handles(groups: list[tuple[str, list[TreatmentSeries]]]) -> list[Line2D]:
    """Legend entries of all panels, each name once; none of a single treatment."""
    every = {series.name: series for _, some in groups for series in some}
    looks = [(s.name, {"color": s.colour, "linestyle": s.line, "marker": s.marker}) for s in every.values()]
    return [Line2D([], [], markersize=4.5, label=name, **look) for name, look in looks] if len(looks) > 1 else []
