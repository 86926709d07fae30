"""Estimates the breaking point, the load at which half of the trials hold, and the capacity, at which 95 % do.

The posterior that these are read from is in ``posterior.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from loadstone.analysis.episodes import Episode, Floats
from loadstone.analysis.posterior import Posterior, Trials, episodes_of, posterior, z_scores
from loadstone.analysis.trial_outcome import SPOILS, CountedTrial, TrialOutcome

CREDIBLE = 0.95
CAPACITY_HOLDS = 0.95
"""The share of independent trials that hold at the capacity."""

NOISY = 0.08
"""Above this slope the capacity lies more than 13 % below the breaking point, which is worth a warning."""

FAR = 1.1
"""By how much the machine's speed must change what the system sustains to be named: as much as a search can tell."""


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
class Influence:
    """What the machine did to a trial, as it was observed during it."""

    speed: float
    """What the system sustained for the machine's speed, relative to what it usually does: 0.8 is a fifth less."""
    spoilt: bool
    """Whether others took so much of the processors' time that it may have failed for that alone."""

    @property
    def notable(self) -> bool:
        """Whether it is worth a word."""
        return self.spoilt or not 1 / FAR < self.speed < FAR


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
    influences: tuple[Influence, ...]
    """What the machine did to each trial."""
    follows: float | None
    """How it depends on the speed: 0 not at all, 1 in proportion; None where the speed was not timed."""
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
    counted = belief.usual.counted(trials, belief.follows)
    influences = tuple(
        Influence(trial.load / usual.load, usual.spoilt) for trial, usual in zip(trials, counted, strict=True)
    )
    others = [(trials[at], usual) for at, usual in enumerate(counted) if at not in apart and not usual.spoilt]
    return BreakingPoint(
        breaking_point=point,
        capacity=capacity(belief),
        slope=slope,
        trials=len(trials),
        episodes=tuple(found),
        influences=influences,
        follows=belief.follows if belief.usual.reference_ms is not None else None,
        warnings=(*_machine_doubts(influences), *_doubts(trials, others, point, slope)),
    )


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


def _machine_doubts(influences: Sequence[Influence]) -> Iterable[str]:
    speeds = [each.speed for each in influences]
    if not 1 / FAR < min(speeds, default=1.0) <= max(speeds, default=1.0) < FAR:
        low, high = (f"{abs(end - 1):.0%} {'less' if end < 1 else 'more'}" for end in (min(speeds), max(speeds)))
        yield (
            "the machine's speed differed from trial to trial: for that alone the system sustained from "
            f"{low} to {high} than usual; capacity and breaking point are at its usual speed"
        )
    if spoilt := sum(each.spoilt for each in influences):
        yield (
            f"a hypervisor gave {SPOILS:.0%} more of the processors' time to others than usual in {spoilt} of "
            f"{len(influences)} trials: that these did not hold counts little"
        )


def _doubts(
    trials: Trials, others: Iterable[tuple[TrialOutcome, CountedTrial]], point: Estimate, slope: Estimate
) -> Iterable[str]:
    """``others``: the trials that nothing disturbed, each with what it counts as."""
    held = sorted(trial.load for trial in trials if trial.held)
    broke = sorted(trial.load for trial in trials if not trial.held)
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
    for (load, ok), usual in sorted({(trial[:2], usual.load) for trial, usual in others}):
        z = (1 - usual / point.value) / slope.value
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
