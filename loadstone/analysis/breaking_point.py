"""Estimates the breaking point, the load at which half of the trials hold, and the capacity, at which 95 % do.

The posterior that these are read from is in ``posterior.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from loadstone.analysis.episodes import Episode, Floats
from loadstone.analysis.posterior import Posterior, Trials, episodes_of, posterior, z_scores

CREDIBLE = 0.95
CAPACITY_HOLDS = 0.95
"""The share of independent trials that hold at the capacity."""

NOISY = 0.08
"""Above this slope the capacity lies more than 13 % below the breaking point, which is worth a warning."""


@dataclass(frozen=True)
class Estimate:
    """A posterior median with its equal-tailed 95 % credible interval."""

    value: float
    low: float
    high: float

    @property
    def precision(self) -> float:
        """Half the interval's width relative to the value: 0.05 means +-5 %."""
        return (self.high - self.low) / 2 / self.value


@dataclass(frozen=True)
class BreakingPoint:
    """An estimate from trials: loads in requests/s, the slope relative to the load."""

    breaking_point: Estimate
    """The load at which half of independent trials hold, in the system's usual state."""
    capacity: Estimate
    """The load at which 95 % of them hold, likewise."""
    slope: Estimate
    trials: int
    episodes: tuple[Episode, ...]
    """Trials in which the system was surely not in its usual state."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Band:
    """P(hold) against load, with its pointwise 95 % credible band; lapses are left out."""

    load: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def estimate(trials: Trials, short: Trials = ()) -> BreakingPoint:
    """Breaking point, capacity and slope of ``trials``, with what is doubtful about them as warnings."""
    belief = posterior(trials, short)
    point = breaking_point(belief)
    slope = _quantiles(np.log(belief.slope), belief.weight.sum(axis=0))
    found = episodes_of(belief, trials)
    apart = {at for episode in found for at in range(episode.first, episode.last + 1)}
    others = [trial for at, trial in enumerate(trials) if at not in apart]
    doubts = tuple(_doubts(trials, others, point, slope))
    return BreakingPoint(point, capacity(belief), slope, len(trials), tuple(found), doubts)


def breaking_point(belief: Posterior) -> Estimate:
    """The marginal estimate of the breaking point alone, in requests/s."""
    return _quantiles(belief.log_load, belief.weight.sum(axis=1))


def capacity(belief: Posterior) -> Estimate:
    """The marginal estimate of the load at which 95 % of independent trials hold, in requests/s."""
    log_value = belief.log_load[:, None] + np.log1p(-ndtri(CAPACITY_HOLDS) * belief.slope[None, :])
    low, median, high = (float(np.exp(x)) for x in _weighted_quantiles(log_value, belief.weight))
    return Estimate(median, low, high)


def slope_median(belief: Posterior) -> float:
    """The posterior median of the slope."""
    return _quantiles(np.log(belief.slope), belief.weight.sum(axis=0)).value


def hold_band(belief: Posterior, loads: Iterable[float]) -> Band:
    """P(hold) at each of ``loads``: what the figure of a breaking point shows."""
    chosen = tuple(float(load) for load in loads)
    rows = []
    for load in chosen:
        z = z_scores(belief.log_load, belief.slope, load)
        rows.append([float(ndtr(q)) for q in _weighted_quantiles(z, belief.weight)])
    low, median, high = (tuple(column) for column in zip(*rows, strict=True)) if rows else ((), (), ())
    return Band(chosen, median, low, high)


def _doubts(trials: Trials, usual: Trials, point: Estimate, slope: Estimate) -> Iterable[str]:
    """``usual``: the trials in no episode."""
    outcomes = [(trial[0], trial[1]) for trial in trials]
    held = sorted(load for load, ok in outcomes if ok)
    broke = sorted(load for load, ok in outcomes if not ok)
    if not broke:
        most = max(held, default=0)
        yield f"every full trial held, so the breaking point has no upper bound above {most:g}/s"
    if not held:
        least = min(broke, default=0)
        yield f"no full trial held, so the breaking point has no lower bound below {least:g}/s"
    if slope.value > NOISY:
        far = ndtri(CAPACITY_HOLDS) * slope.value
        differ = f"equal trials differ by {slope.value:.0%} from run to run"
        yield f"{differ}: the capacity lies {far:.0%} below the breaking point"
    for load, ok in sorted({(trial[0], trial[1]) for trial in usual}):
        z = (1 - load / point.value) / slope.value
        chance = float(ndtr(z if ok else -z))
        if chance < 0.01:
            verb = "held" if ok else "did not hold"
            yield f"a trial at {load:g}/s {verb}, which the others give a chance of {chance:.1%}"


def _quantiles(log_value: Floats, weight: Floats) -> Estimate:
    """Quantiles of a marginal on an even grid of logarithms: interpolated, each point standing for the cell around
    it."""
    tail = (1 - CREDIBLE) / 2
    at = np.interp([tail, 0.5, 1 - tail], np.cumsum(weight) - weight / 2, log_value)
    low, median, high = (float(x) for x in np.exp(at))
    return Estimate(median, low, high)


def _weighted_quantiles(value: Floats, weight: Floats) -> tuple[float, float, float]:
    """Low, median and high quantile of any function of the grid."""
    flat = value.ravel()
    order = np.argsort(flat)
    mass = weight.ravel()[order]
    tail = (1 - CREDIBLE) / 2
    low, median, high = np.interp([tail, 0.5, 1 - tail], np.cumsum(mass) - mass / 2, flat[order])
    return float(low), float(median), float(high)
