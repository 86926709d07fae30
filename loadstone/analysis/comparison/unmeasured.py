"""Latencies that a baseline has at a load and a treatment has not: what its trials lost or broke under is no number.

Without them a treatment that no longer bears a load would look like one that was not tried there.
"""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analysis.comparison.measured import STATISTICS
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.records.bounds import RANKED, only_bounded
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.slo import Slo


@dataclass(frozen=True)
class Unmeasured:
    """One latency of all requests at one load, in ms."""

    baseline: str
    treatment: str
    load: float
    statistic: str
    longest: float
    """The greatest of the baseline's trials."""
    exceeds: tuple[float, ...]
    """What it exceeds in each trial of the treatment; empty where that is not known of every one."""


def unmeasured(baseline: TreatmentSummary, other: TreatmentSummary, slo: Slo | None) -> list[Unmeasured]:
    """By load and statistic, what each trial of the baseline has and some trial of the treatment has not."""
    found = []
    of_a, of_b = _tried(baseline), _tried(other)
    for load in sorted({row.load for row in of_a} & {row.load for row in of_b}):
        theirs = [row for row in of_b if row.load == load]
        for statistic in STATISTICS:
            values = [getattr(row, f"{statistic}_ms") for row in of_a if row.load == load]
            if None in values or not any(_lost(row, statistic) for row in theirs):
                continue
            bounds = [_exceeded(row, statistic, slo) for row in theirs]
            known = tuple(bound for bound in bounds if bound is not None)
            exceeds = known if len(known) == len(bounds) else ()
            found.append(Unmeasured(baseline.label, other.label, load, statistic, max(values), exceeds))
    return found


def _tried(treatment: TreatmentSummary) -> list[TrialRow]:
    return [row for row in treatment.trials if row.valid and row.timed and row.repeatable]


def _lost(row: TrialRow, statistic: str) -> bool:
    return row.stopped or row.completed == 0 or only_bounded(row, f"{statistic}_ms")


def _exceeded(row: TrialRow, statistic: str, slo: Slo | None) -> float | None:
    """What a latency that a trial does not have exceeds: a trial is stopped once more requests than the SLO's
    percentile allows are beyond its limit."""
    if row.stopped:
        percentile, limit = slo.strictest if slo is not None else (None, None)
        return limit if percentile is not None and percentile <= RANKED[statistic] else None
    return row.latency_bound_ms if only_bounded(row, f"{statistic}_ms") else None
