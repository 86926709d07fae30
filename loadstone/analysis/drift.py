"""Did the machine stay the same? A computation that is always the same is timed beside every trial.

A trial's reading is the time during its load, a mean of many samples on the nodes, relative to the median of its
treatment, whose environment may slow the same machine down. Where not every trial has one it is the shorter of the two
times before and after the load: what an overloaded application still has to work off holds up the later one. A drift is
what the running median of three trials makes of it, so that a single slow trial is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from loadstone.analysis.schema import TableRow
from loadstone.model.records.trial_row import TrialRow

FEWEST = 5
"""The fewest trials whose course can be separated from the scatter of single readings."""
NOTABLE = 0.05
"""A drift that is smaller changes no number that anybody would act on."""


@dataclass(frozen=True)
class Drift:
    """Over the trials of a run or of a search."""

    size: float
    """How much longer the loop took where it took longest, 0.22: 22 % longer than where it was shortest."""
    shortest_ms: float
    longest_ms: float


class SpeedReading(TableRow, name="reference"):
    """How long the same computation took before, after and during a trial's load, and the running median of the
    readings of three trials."""

    trial_id: str
    treatment: str
    order: int
    before_ms: float | None
    after_ms: float | None
    during_ms: float | None
    smoothed_ms: float


def course(trials: Iterable[TrialRow]) -> list[SpeedReading]:
    """The trials that have readings, in the order they were run."""
    found = _readings(list(trials))
    times = [time for _, time in found]
    return [
        SpeedReading(
            trial_id=row.trial_id,
            treatment=row.treatment,
            order=row.order,
            before_ms=row.reference_before_ms,
            after_ms=row.reference_after_ms,
            during_ms=row.reference_during_ms,
            smoothed_ms=median(times[max(place - 1, 0) : place + 2]),
        )
        for place, (row, _) in enumerate(found)
    ]


def _readings(rows: Sequence[TrialRow]) -> list[tuple[TrialRow, float]]:
    """Trials that were timed, with their readings, comparable with each other."""
    known = _during(rows)
    if known is None:
        return [(row, min(times)) for row in rows if (times := _beside(row))]
    usual = median(time for _, time in known)
    own = {
        treatment: median(time for row, time in known if row.treatment_id == treatment)
        for treatment in {row.treatment_id for row, _ in known}
    }
    return [(row, usual * time / own[row.treatment_id]) for row, time in known]


def _during(rows: Sequence[TrialRow]) -> list[tuple[TrialRow, float]] | None:
    """The times during the trials; None where a valid trial has none, or all have none."""
    known = [(row, row.reference_during_ms) for row in rows if row.valid or row.reference_during_ms is not None]
    times = [(row, time) for row, time in known if time is not None]
    return times if times and len(times) == len(known) else None


def _beside(row: TrialRow) -> list[float]:
    return [time for time in (row.reference_before_ms, row.reference_after_ms) if time is not None]


def drift(trials: Iterable[TrialRow]) -> Drift | None:
    """How far the speed strayed; None where there are too few readings, as in runs of releases up to 0.1."""
    smoothed = [reading.smoothed_ms for reading in course(trials)]
    if len(smoothed) < FEWEST:
        return None
    inner = smoothed[1:-1]  # the first and the last are a mean of two
    low, high = min(inner), max(inner)
    return Drift(high / low - 1, low, high)


def slower(trials: Sequence[TrialRow], base: Sequence[TrialRow]) -> float | None:
    """How much longer the loop took in the mean in ``trials`` than in ``base``, 0.33: 33 %; None: not timed."""
    during, base_during = _during(trials), _during(base)
    if during is not None and base_during is not None:
        times, base_times = ([time for _, time in known] for known in (during, base_during))
    else:
        times, base_times = ([min(found) for row in rows if (found := _beside(row))] for rows in (trials, base))
    return fmean(times) / fmean(base_times) - 1 if times and base_times else None
