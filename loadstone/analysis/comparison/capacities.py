"""Breaking points side by side: how many times as much a treatment takes, with the interval of the ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.comparison.tables import CapacityRow
from loadstone.analysis.episodes import Floats
from loadstone.analysis.posterior import Posterior, posterior
from loadstone.analysis.summary import TreatmentSummary, search_trials


@dataclass(frozen=True)
class Unestimated:
    """Two searches of which one, at least, ended without an estimate; loads in requests/s."""

    baseline: str
    treatment: str
    least: float | None
    """The lower end of the baseline's breaking point; None where it is the one without an estimate."""
    broke: tuple[float, ...]
    """Where the treatment's trials did not hold, if none of them held at any load."""
    why: str
    """Which has no estimate, as a sentence."""


Verdict = Literal["higher", "lower", "equal", "cannot tell"]
_POINTS = 800
"""Equally probable points that stand for each posterior: the interval's ends move by less than 0.1 % with more."""


def ratio(a: Posterior, b: Posterior) -> bp.Estimate:
    """B's breaking point divided by A's, their searches being independent of each other."""
    differences = (_points(b)[:, None] - _points(a)[None, :]).ravel()
    tail = (1 - bp.CREDIBLE) / 2
    low, median, high = (float(end) for end in np.exp(np.quantile(differences, [tail, 0.5, 1 - tail])))
    return bp.Estimate(median, low, high)


def _points(belief: Posterior) -> Floats:
    """Equally probable logarithms of the breaking point."""
    weight = belief.weight.sum(axis=1)
    shares = (np.arange(_POINTS) + 0.5) / _POINTS
    points: Floats = np.interp(shares, np.cumsum(weight) - weight / 2, belief.log_load)
    return points


def compared(baseline: TreatmentSummary, others: Sequence[TreatmentSummary], margin: float) -> list[CapacityRow]:
    """One row for each other treatment whose breaking point is known, as the baseline's; none without that."""
    if baseline.searched is None or baseline.searched.result is None:
        return []
    of_a, before = _posterior(baseline), baseline.searched.result.breaking_point
    rows = []
    for other in others:
        if other.searched is None or other.searched.result is None:
            continue
        after, found = other.searched.result.breaking_point, ratio(of_a, _posterior(other))
        rows.append(
            CapacityRow(
                baseline=baseline.label,
                treatment=other.label,
                a=before.value,
                a_low=before.low,
                a_high=before.high,
                b=after.value,
                b_low=after.low,
                b_high=after.high,
                ratio=found.value,
                low=found.low,
                high=found.high,
                margin=margin,
                verdict=verdict(found, margin),
            )
        )
    return rows


def unestimated(baseline: TreatmentSummary, others: Sequence[TreatmentSummary]) -> list[Unestimated]:
    """The pairs of searches that cannot be compared, as one of them has trials and no estimate."""
    if baseline.searched is None:
        return []
    least = baseline.searched.result.breaking_point.low if baseline.searched.result is not None else None
    rows = []
    for other in others:
        if other.searched is None or not (baseline.trials and other.trials):
            continue
        without = [each for each in (baseline, other) if each.searched and each.searched.result is None]
        if without:
            broke = () if other.rows("held") else tuple(row.rate for row in other.rows("not held"))
            why = "; ".join(f"{each.label}: {_course(each)}" for each in without)
            rows.append(Unestimated(baseline.label, other.label, least, broke, why))
    return rows


def _course(treatment: TreatmentSummary) -> str:
    held, broke = treatment.count("held"), treatment.count("not held")
    return f"its search ended without an estimate ({held} trials held, {broke} did not), so capacities are not compared"


def verdict(found: bp.Estimate, margin: float) -> Verdict:
    """Equal first: what is certainly smaller than what matters does not matter."""
    if found.low > 1 / (1 + margin) and found.high < 1 + margin:
        return "equal"
    if found.low > 1:
        return "higher"
    return "lower" if found.high < 1 else "cannot tell"


def _posterior(treatment: TreatmentSummary) -> Posterior:
    return posterior(*search_trials(treatment.trials))
