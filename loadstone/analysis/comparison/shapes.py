"""Where the latencies of all requests differ, from the whole distributions that trials leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loadstone.analysis.comparison.measured import MeasuredRun
from loadstone.analysis.comparison.tables import AGAIN, ShapeRow, ShiftRow, Sides, shape_rows
from loadstone.analysis.comparison.treatments import Pair, again, at, pairs
from loadstone.analysis.run import RunFolder
from loadstone.model.errors import InputError
from loadstone.model.records.bounds import is_bound
from loadstone.model.records.trial_row import TrialRow

if TYPE_CHECKING:  # a slow import of compiled code, for shapes only
    from loadstone.analysis.statistics.merging import Sample

MOST = 120
"""Trials whose distributions are read: each takes some milliseconds."""


@dataclass(frozen=True)
class Shapes:
    """Distances between whole distributions, and how far percentiles moved."""

    distances: list[ShapeRow] = field(default_factory=list)
    shifts: list[ShiftRow] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def of(
    run: RunFolder, runs: Sequence[MeasuredRun], baseline: str, keys: Sequence[tuple[str, float]], paired: bool
) -> Shapes:
    """The shapes of each treatment at each load against the baseline, over the blocks that both have."""
    from loadstone.analysis.statistics.shape import shape

    wanted = {key: _sides(runs, baseline, *key) for key in keys}
    needed = {side.trial_id for both in wanted.values() for pair in both for side in pair}
    if len(needed) > MOST:
        text = f"shapes of distributions are shown of comparisons of up to {MOST} trials, and these are {len(needed)}"
        return Shapes(warnings=[text])
    found = Shapes()
    samples = {trial: values for trial in sorted(needed) if (values := _sample(run, trial, found.warnings)) is not None}
    rows = {row.trial_id: row for row in run.trials}
    for (treatment, load), both in wanted.items():
        there = [
            (samples[a.trial_id], samples[b.trial_id]) for a, b in both if {a.trial_id, b.trial_id} <= set(samples)
        ]
        if not there:
            continue
        where: Sides = {"baseline": baseline, "treatment": treatment, "load": load, "clients": both[0][0].clients}
        described = shape([a for a, _ in there], [b for _, b in there], paired)
        distances, shifts = shape_rows(where, described)
        found.distances.append(distances)
        compared = [rows[side.trial_id] for pair in both for side in pair]
        found.shifts.extend(shift for shift in shifts if all(_observed(row, shift.percentile) for row in compared))
    return found


def _sides(runs: Sequence[MeasuredRun], baseline: str, treatment: str, load: float) -> list[Pair]:
    theirs = again(runs, baseline, load) if treatment == AGAIN else at(runs, treatment, load)
    return pairs(at(runs, baseline, load), theirs)


def _observed(row: TrialRow, percentile: float) -> bool:
    """Whether that percentile is the latency of an answer: of a request without one, the log has a lower bound."""
    return row.offered is None or not is_bound(percentile, row.offered, (row.completed or 0) + (row.late or 0))


def _sample(run: RunFolder, trial_id: str, warnings: list[str]) -> Sample | None:
    from loadstone.analysis.run import hlog

    file = run.folder / "trials" / trial_id / hlog.FILE
    if not file.exists():  # a driver that leaves none
        return None
    try:
        return hlog.distributions(file).get(hlog.ALL)
    except InputError as error:
        warnings.append(f"left out of the shapes of distributions: {str(error).replace(f'{run.folder}/', '')}")
        return None
