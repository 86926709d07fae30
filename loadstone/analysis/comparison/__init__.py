"""A comparison of a run's treatments, or of two runs: what is compared comes from their trials, and tables come out.

The statistics are those of ``analysis.comparison``; this finds the runs that belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from loadstone.analysis import summary
from loadstone.analysis.comparison import calibration, capacities, doubts, shapes, tables
from loadstone.analysis.comparison.measured import FIXED, measured, usable
from loadstone.analysis.comparison.treatments import again, at, effects, loads, noise, pairs
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.comparison import Comparison
from loadstone.model.errors import InputError
from loadstone.model.units import share


@dataclass(frozen=True)
class Compared:
    """What was found: ``tables`` by name, as ``tables`` and ``calibration`` have them."""

    baseline: str
    margin: float
    method: str
    """``paired`` or ``unpaired``."""
    tables: dict[str, pa.Table]
    warnings: list[str]


@dataclass
class _Found:
    effects: list[tables.Row] = field(default_factory=list)
    noise: list[tables.Row] = field(default_factory=list)
    shapes: list[tables.Row] = field(default_factory=list)
    shifts: list[tables.Row] = field(default_factory=list)
    capacities: list[tables.Row] = field(default_factory=list)
    calibration: list[tables.Row] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def compared(self, baseline: str, margin: float, method: str) -> Compared:
        schemas = {"comparison": tables.EFFECTS, "noise": tables.NOISE, "shapes": tables.SHAPES}
        schemas |= {"shifts": tables.SHIFTS, "capacities": tables.CAPACITIES}
        schemas |= {"calibration": calibration.TABLE}
        rows = (self.effects, self.noise, self.shapes, self.shifts, self.capacities, self.calibration)
        made = {
            name: pa.Table.from_pylist(some, schema) for (name, schema), some in zip(schemas.items(), rows, strict=True)
        }
        return Compared(baseline, margin, method, made, list(dict.fromkeys(self.warnings)))


def within(
    run: RunFolder,
    baseline: str | None = None,
    margin: float | None = None,
    unpaired: bool = False,
    spans: bool = True,
    distributions: bool = True,
) -> Compared:
    """The treatments of one run against ``baseline`` (a label, or a part of one that no other has).

    Without ``spans`` and ``distributions`` only what takes no time is compared.

    Raises InputError where there is no such treatment, or only one and no second runs of it.
    """
    treatments = summary.treatments(run)
    a = baseline_of(run, treatments, baseline)
    others = [treatment for treatment in treatments if treatment.id != a.id]
    margin = margin_of(run) if margin is None else margin
    sequential = (run.study.get("trial") or {}).get("order") == "sequential"
    method = "unpaired" if unpaired or sequential else "paired"
    found = _Found()
    found.capacities += capacities.compared(a, others, margin)
    if found.capacities:
        found.warnings += doubts.of_searches((treatment.label, treatment) for treatment in treatments)
    runs = measured(run, run.trials.to_pylist(), spans)
    found.warnings += doubts.of_trials(run.trials.to_pylist(), method)
    if sequential and runs:
        found.warnings.append("treatments ran one after the other: what drifted between them counts as a difference")
    for load in loads(runs):
        mine, second = at(runs, a.label, load), again(runs, a.label, load)
        if not mine:
            continue
        counts = [len(pairs(mine, at(runs, other.label, load))) for other in others]
        first = {"baseline": a.label, "load": load, "clients": mine[0].clients}
        floor = noise(mine, second, margin, max([*counts, len(mine) if not others else 0]))
        found.noise += tables.noise_rows(first | {"treatment": tables.AGAIN}, floor, bool(pairs(mine, second)))
        found.warnings += doubts.of_drift(runs, a.label, load, margin)
        for other in others:
            theirs = at(runs, other.label, load)
            if not theirs:
                continue
            results = effects(mine, theirs, margin, method == "paired")
            found.effects += tables.effect_rows(first | {"treatment": other.label}, results)
            count = results[0][1].effect.runs if results else 0
            found.warnings += doubts.of_pairs(other.label, load, count, method)
            found.warnings += doubts.of_missing(other.label, load, [*mine, *theirs])
    if distributions:
        keys = [(row["treatment"], row["load"]) for row in (*found.noise, *found.effects)]
        described = shapes.of(run, runs, a.label, list(dict.fromkeys(keys)), method == "paired")
        found.shapes, found.shifts = described.distances, described.shifts
        found.warnings += described.warnings
    found.calibration += calibration.rows(calibration.injected(run, a.id), found.effects, found.noise, found.shapes)
    return found.compared(a.label, margin, method)


def between(old: RunFolder, new: RunFolder, margin: float | None = None, spans: bool = True) -> Compared:
    """Two runs of different times: the treatments that both have; where each has one alone, these.

    Raises InputError where they share none.
    """
    margin = margin_of(new) if margin is None else margin
    found = _Found()
    found.warnings += doubts.of_machines(old, new)
    matched = _matched(old, new)
    of_old, of_new = (measured(run, run.trials.to_pylist(), spans) for run in (old, new))
    for run in (old, new):
        found.warnings += doubts.of_trials(run.trials.to_pylist(), "unpaired")
    for a, b in matched:
        sides = {"baseline": _of(a, old), "treatment": _of(b, new)}
        points = [row | sides for row in capacities.compared(a, [b], margin)]
        found.capacities += points
        if points:
            found.warnings += doubts.of_searches([(sides["baseline"], a), (sides["treatment"], b)])
        for load in loads(of_old):
            mine, theirs = at(of_old, a.label, load), at(of_new, b.label, load)
            if not (mine and theirs):
                continue
            where = {**sides, "load": load, "clients": mine[0].clients}
            floor = noise(mine, again(of_old, a.label, load), margin, min(len(mine), len(theirs)))
            second = bool(pairs(mine, again(of_old, a.label, load)))
            found.noise += tables.noise_rows(where | {"treatment": tables.AGAIN}, floor, second)
            results = effects(mine, theirs, margin, paired=False)
            found.effects += tables.effect_rows(where, results)
            count = results[0][1].effect.runs if results else 0
            found.warnings += doubts.of_pairs(sides["treatment"], load, count, "unpaired")
            found.warnings += doubts.of_missing(sides["treatment"], load, [*mine, *theirs])
    return found.compared(old.folder.name, margin, "unpaired")


def _of(treatment: TreatmentSummary, run: RunFolder) -> str:
    return f"{treatment.label} ({run.folder.name})"


def baseline_of(run: RunFolder, treatments: Sequence[TreatmentSummary], given: str | None) -> TreatmentSummary:
    """The treatment that is meant; the one of the study's comparison, or the first, where nothing is given."""
    if not treatments:
        raise InputError(f"{run.folder}: there is nothing to compare: it has no treatment")
    if given is None:
        planned = run.plan.get("baseline")
        return next((treatment for treatment in treatments if treatment.id == planned), treatments[0])
    exact = [treatment for treatment in treatments if treatment.label == given]
    found = exact or [treatment for treatment in treatments if given in treatment.label]
    if len(found) != 1:
        known = "; ".join(treatment.label for treatment in treatments)
        count = "names no treatment" if not found else f"names {len(found)} treatments"
        raise InputError(f"--baseline {given!r} {count} of this run; it has: {known}")
    return found[0]


def margin_of(run: RunFolder) -> float:
    """What the study calls practically equal."""
    written = (run.study.get("comparison") or {}).get("margin")
    try:
        return share(written) if written is not None else Comparison().margin
    except ValueError:
        return Comparison().margin


def comparable(run: RunFolder) -> bool:
    """Whether there is anything to compare: two treatments with breaking points or usable runs, or runs twice."""
    rows = run.trials.to_pylist()
    there = {row["treatment_id"] for row in rows if usable(row) or row["phase"] not in FIXED}
    return len(there) > 1 or any(row["phase"] in FIXED and row["number"] > 1 for row in rows)


def _matched(old: RunFolder, new: RunFolder) -> list[tuple[TreatmentSummary, TreatmentSummary]]:
    before, after = summary.treatments(old), summary.treatments(new)
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    by_label = {treatment.label: treatment for treatment in after}
    matched = [(treatment, by_label[treatment.label]) for treatment in before if treatment.label in by_label]
    if not matched:
        known = " and ".join("; ".join(treatment.label for treatment in some) or "none" for some in (before, after))
        raise InputError(f"the two runs have no treatment in common: {known}")
    return matched
