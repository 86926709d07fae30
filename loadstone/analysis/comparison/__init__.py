"""A comparison of a run's treatments, or of two runs: what is compared comes from their trials, and tables come out.

The statistics are those of ``analysis.comparison``; this finds the runs that belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from loadstone.analysis import summary
from loadstone.analysis.comparison import calibration, capacities, doubts, shapes, tables
from loadstone.analysis.comparison.calibration import CalibrationRow
from loadstone.analysis.comparison.capacities import Unestimated
from loadstone.analysis.comparison.measured import MeasuredRun, families, measured, usable
from loadstone.analysis.comparison.tables import CapacityRow, EffectRow, NoiseRow, ShapeRow, ShiftRow, Sides
from loadstone.analysis.comparison.treatments import again, at, effects, loads, noise, pairs
from loadstone.analysis.comparison.unmeasured import Unmeasured, unmeasured
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import table
from loadstone.analysis.statistics.effect import Method
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.comparison import Comparison
from loadstone.model.errors import InputError
from loadstone.model.units import share


@dataclass
class Compared:
    """What was found."""

    baseline: str
    margin: float
    method: Method
    """``paired`` or ``unpaired``."""
    effects: list[EffectRow] = field(default_factory=list)
    noise: list[NoiseRow] = field(default_factory=list)
    """The baseline against itself."""
    shapes: list[ShapeRow] = field(default_factory=list)
    """The baseline against itself first."""
    shifts: list[ShiftRow] = field(default_factory=list)
    capacities: list[CapacityRow] = field(default_factory=list)
    unestimated: list[Unestimated] = field(default_factory=list)
    """Searches that cannot be compared."""
    unmeasured: list[Unmeasured] = field(default_factory=list)
    """Latencies of all requests that the baseline has at a load and a treatment has not."""
    calibration: list[CalibrationRow] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before believing it, each once."""
        return list(dict.fromkeys(self.doubts))

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All of it, by name."""
        return {
            "comparison": table(EffectRow, self.effects),
            "noise": table(NoiseRow, self.noise),
            "shapes": table(ShapeRow, self.shapes),
            "shifts": table(ShiftRow, self.shifts),
            "capacities": table(CapacityRow, self.capacities),
            "calibration": table(CalibrationRow, self.calibration),
        }


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
    treatments = _timed(run)
    a = baseline_of(run, treatments, baseline)
    others = [treatment for treatment in treatments if treatment.id != a.id]
    margin = margin_of(run) if margin is None else margin
    sequential = run.study.trial.order == "sequential"
    method: Method = "unpaired" if unpaired or sequential else "paired"
    found = Compared(a.label, margin, method)
    found.capacities += capacities.compared(a, others, margin)
    found.unestimated += capacities.unestimated(a, others)
    found.doubts += [row.why for row in found.unestimated]
    if found.capacities:
        found.doubts += doubts.of_searches((treatment.label, treatment) for treatment in treatments)
    found.unmeasured += [each for other in others for each in unmeasured(a, other, run.objective)]
    runs = measured(run, run.trials, spans)
    found.doubts += doubts.of_trials(run.trials, method)
    if sequential and runs:
        found.doubts.append("treatments ran one after the other: what drifted between them counts as a difference")
    counted: list[tuple[str, MeasuredRun, int]] = []
    chosen = chosen_in(run)
    for load in loads(runs):
        mine, second = at(runs, a.label, load), again(runs, a.label, load)
        if not mine:
            continue
        counts = [len(pairs(mine, at(runs, other.label, load))) for other in others]
        first: Sides = {"baseline": a.label, "treatment": tables.AGAIN, "load": load, "clients": mine[0].clients}
        floor = noise(mine, second, margin, max([*counts, len(mine) if not others else 0]), chosen)
        found.noise += tables.noise_rows(first, floor, bool(pairs(mine, second)))
        found.doubts += doubts.of_drift(runs, a.label, load, margin)
        for other in others:
            theirs = at(runs, other.label, load)
            if not theirs:
                continue
            results = effects(mine, theirs, margin, method == "paired", chosen)
            found.effects += tables.effect_rows({**first, "treatment": other.label}, results)
            count = results[0][1].effect.runs if results else 0
            counted.append((other.label, mine[0], count))
            found.doubts += doubts.of_missing(other.label, [*mine, *theirs])
            found.doubts += doubts.of_families(families([*mine, *theirs], chosen), count, method)
    found.doubts += doubts.of_pairs(counted, method)
    if distributions:
        keys = [(row.treatment, row.load) for row in (*found.noise, *found.effects)]
        described = shapes.of(run, runs, a.label, list(dict.fromkeys(keys)), method == "paired")
        found.shapes, found.shifts = described.distances, described.shifts
        found.doubts += described.warnings
    found.calibration += calibration.rows(calibration.injected(run, a.id), [*found.noise, *found.effects], found.shapes)
    return _something(found, run)


def between(old: RunFolder, new: RunFolder, margin: float | None = None, spans: bool = True) -> Compared:
    """Two runs of different times: the treatments that both have; where each has one alone, these.

    Raises InputError where they share none, or no valid trials of one.
    """
    found = Compared(old.folder.name, margin_of(new) if margin is None else margin, "unpaired")
    found.doubts += doubts.of_machines(old, new)
    matched = _matched(old, new)
    of_old, of_new = (measured(run, run.trials, spans) for run in (old, new))
    for run in (old, new):
        found.doubts += doubts.of_trials(run.trials, "unpaired")
    counted: list[tuple[str, MeasuredRun, int]] = []
    chosen = chosen_in(new)
    for a, b in matched:
        before, after = _of(a, old), _of(b, new)
        points = [replace(row, baseline=before, treatment=after) for row in capacities.compared(a, [b], found.margin)]
        found.capacities += points
        without = [replace(row, baseline=before, treatment=after) for row in capacities.unestimated(a, [b])]
        found.unestimated += without
        found.doubts += [row.why for row in without]
        found.unmeasured += [
            replace(each, baseline=before, treatment=after) for each in unmeasured(a, b, new.objective)
        ]
        if points:
            found.doubts += doubts.of_searches([(before, a), (after, b)])
        for load in loads(of_old):
            mine, theirs = at(of_old, a.label, load), at(of_new, b.label, load)
            if not (mine and theirs):
                continue
            where: Sides = {"baseline": before, "treatment": after, "load": load, "clients": mine[0].clients}
            floor = noise(mine, again(of_old, a.label, load), found.margin, min(len(mine), len(theirs)), chosen)
            second = bool(pairs(mine, again(of_old, a.label, load)))
            found.noise += tables.noise_rows({**where, "treatment": tables.AGAIN}, floor, second)
            results = effects(mine, theirs, found.margin, False, chosen)
            found.effects += tables.effect_rows(where, results)
            count = results[0][1].effect.runs if results else 0
            counted.append((after, mine[0], count))
            found.doubts += doubts.of_missing(after, [*mine, *theirs])
            found.doubts += doubts.of_families(families([*mine, *theirs], chosen), count, "unpaired")
    found.doubts += doubts.of_pairs(counted, "unpaired")
    return _something(found, new)


def _something(found: Compared, run: RunFolder) -> Compared:
    """What was found; raises InputError where that is nothing."""
    if not (found.unestimated or found.unmeasured) and not any(table.num_rows for table in found.tables.values()):
        raise InputError(f"{run.folder}: nothing to compare: fewer than two treatments have valid trials")
    return found


def _of(treatment: TreatmentSummary, run: RunFolder) -> str:
    return f"{treatment.label} ({run.folder.name})"


def baseline_of(run: RunFolder, treatments: Sequence[TreatmentSummary], given: str | None) -> TreatmentSummary:
    """The treatment that is meant; the one of the study's comparison, or the first, where nothing is given."""
    if not treatments:
        raise InputError(f"{run.folder}: there is nothing to compare: it has no treatment")
    if given is None:
        return next((treatment for treatment in treatments if treatment.id == run.plan.baseline), treatments[0])
    exact = [treatment for treatment in treatments if treatment.label == given]
    found = exact or [treatment for treatment in treatments if given in treatment.label]
    if len(found) != 1:
        known = "; ".join(treatment.label for treatment in treatments)
        count = "names no treatment" if not found else f"names {len(found)} treatments"
        raise InputError(f"--baseline {given!r} {count} of this run; it has: {known}")
    return found[0]


def margin_of(run: RunFolder) -> float:
    """What the study calls practically equal."""
    written = run.study.comparison.margin
    try:
        return share(written) if written is not None else Comparison().margin
    except ValueError:
        return Comparison().margin


def chosen_in(run: RunFolder) -> frozenset[str]:
    """The spans and operations that the study names, before anything is measured."""
    return frozenset(run.study.report.spans)


def comparable(run: RunFolder) -> bool:
    """Whether there is anything to compare: two treatments with breaking points or usable runs, or runs twice."""
    timed = [row for row in run.trials if row.timed]
    there = {row.treatment_id for row in timed if usable(row) or not row.repeatable}
    return len(there) > 1 or any(row.repeatable and row.number > 1 for row in timed)


def _timed(run: RunFolder) -> list[TreatmentSummary]:
    """The treatments that measure; raises InputError where none does."""
    treatments = summary.treatments(run)
    found = [treatment for treatment in treatments if treatment.timed]
    if treatments and not found:
        message = f"{run.folder}: nothing to compare: its processors were software (tcg), on which nothing is measured"
        raise InputError(f"{message}; run it where KVM works")
    return found


def _matched(old: RunFolder, new: RunFolder) -> list[tuple[TreatmentSummary, TreatmentSummary]]:
    before, after = _timed(old), _timed(new)
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    by_label = {treatment.label: treatment for treatment in after}
    matched = [(treatment, by_label[treatment.label]) for treatment in before if treatment.label in by_label]
    if not matched:
        known = " and ".join("; ".join(treatment.label for treatment in some) or "none" for some in (before, after))
        raise InputError(f"the two runs have no treatment in common: {known}")
    return matched
