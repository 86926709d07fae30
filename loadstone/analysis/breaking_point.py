"""The posterior of a breaking point, from trials that held the SLO or did not.

A trial at load x holds with probability lapse/2 + (1 - lapse) Phi((log b - log x) / s): b is the breaking point,
s the slope (how far, relative to b, a run's own capacity strays from run to run), and the lapse lets single trials
lie for reasons that have nothing to do with load. The posterior lives on a grid over log b and log s, which needs
no sampler, is the same in every process and takes milliseconds.

Sources: the adaptive probit grid is Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and
threshold" (Vision Research 39, 1999); the lapse is Wichmann and Hill, "The psychometric function: I" (Perception &
Psychophysics 63, 2001); as a search for a root under noise it is the probabilistic bisection of Waeber, Frazier
and Henderson (SIAM J. Control Optim. 51, 2013).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
Trials = Sequence[tuple[float, bool]]
"""(offered load, held) of each valid trial; the order does not matter."""

LAPSE = 0.03
CREDIBLE = 0.95
CAPACITY_HOLDS = 0.95
"""The share of independent trials that hold at the capacity."""

SHORT_SHIFT, SHORT_NOISE = 0.013, 0.05
"""Short trials break 1.2-1.4 % later than full ones in simulation; how much on a real system is unknown, so a short
trial speaks of the breaking point only through this much extra noise."""

_SLOPES = np.linspace(np.log(0.004), np.log(0.5), 34)
SLOPE_MEDIAN, _SLOPE_SPREAD = 0.06, 1.0
"""Prior of the slope: log-normal, 95 % between 0.8 % and 43 %. It decides when a search dares to stop, and so whether
intervals cover the truth where equal trials differ much, for a dozen outcomes cannot show that they do not. A median
of 4 % with a spread of 0.6 ends searches a third earlier where equal trials differ by 5 %, and covers the truth in
only 82 % where they differ by 10 % and 69 % where by 20 % (on a simpler simulation than ``bench/search.py``, which
scores: what is tuned must not be scored by what it was tuned on).
"""
NOISY = 0.08
"""Above this slope the capacity lies more than 12 % below the breaking point, which is worth a warning."""
_COARSE, _FINE_POINTS = 0.01, 240
_REACH = 4.0
"""The prior of the breaking point is flat in its logarithm from the lowest load tried / 4 to the highest x 4."""


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
class Posterior:
    """Probability ``weight[i, j]`` of the breaking point ``exp(log_load[i])`` with the slope ``slope[j]``."""

    log_load: Floats
    slope: Floats
    weight: Floats


@dataclass(frozen=True)
class BreakingPoint:
    """What the trials say: loads in requests/s, the slope relative to the load."""

    breaking_point: Estimate
    """The load at which half of independent trials hold."""
    capacity: Estimate
    """The load at which 95 % of them hold."""
    slope: Estimate
    trials: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Band:
    """P(hold) against load, with its pointwise 95 % credible band; lapses are left out."""

    load: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def posterior(trials: Trials, short: Trials = ()) -> Posterior:
    """The joint posterior of breaking point and slope.

    ``trials`` are of full duration; ``short`` ones (the bracket) shape only the prior, shifted and blurred.
    Raises ValueError without any trial or with a load that is not a positive finite number.
    """
    loads = [load for load, _ in (*trials, *short)]
    if not loads:
        raise ValueError("no trial to estimate a breaking point from")
    for load in loads:
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"load {load!r} is not a positive number of requests per second")
    low, high = np.log(min(loads) / _REACH), np.log(max(loads) * _REACH)
    wide = np.linspace(low, high, int((high - low) / _COARSE) + 2)
    coarse = _on_grid(wide, _SLOPES[::3], trials, short)
    # The second grid spends its points where the first found the mass.
    heavy = np.flatnonzero(coarse.weight.sum(axis=1) > 1e-6)
    first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(wide) - 1)
    return _on_grid(np.linspace(wide[first], wide[last], _FINE_POINTS), _SLOPES, trials, short)


def _on_grid(log_load: Floats, log_slope: Floats, trials: Trials, short: Trials) -> Posterior:
    slope = np.exp(log_slope)
    prior = -0.5 * ((log_slope - np.log(SLOPE_MEDIAN)) / _SLOPE_SPREAD) ** 2
    log_weight = np.tile(prior, (len(log_load), 1))
    add_likelihood(log_weight, log_load, slope, trials)
    add_likelihood(log_weight, log_load + SHORT_SHIFT, np.hypot(slope, SHORT_NOISE), short)
    weight = np.exp(log_weight - log_weight.max())
    return Posterior(log_load, slope, weight / weight.sum())


def add_likelihood(log_weight: Floats, log_load: Floats, slope: Floats, trials: Trials) -> None:
    """Adds the log-likelihood of ``trials`` in place; equal outcomes at equal loads are computed once."""
    for (load, held), count in sorted(Counter(trials).items()):
        z = (log_load[:, None] - np.log(load)) / slope[None, :]
        log_weight += count * np.log(LAPSE / 2 + (1 - LAPSE) * ndtr(z if held else -z))


def estimate(trials: Trials, short: Trials = ()) -> BreakingPoint:
    """Breaking point, capacity and slope of ``trials``, with what is doubtful about them as warnings."""
    belief = posterior(trials, short)
    point = breaking_point(belief)
    slope = _quantiles(np.log(belief.slope), belief.weight.sum(axis=0))
    return BreakingPoint(point, capacity(belief), slope, len(trials), tuple(_doubts(trials, point, slope)))


def breaking_point(belief: Posterior) -> Estimate:
    """The marginal estimate of the breaking point alone, in requests/s."""
    return _quantiles(belief.log_load, belief.weight.sum(axis=1))


def capacity(belief: Posterior) -> Estimate:
    """The marginal estimate of the load at which 95 % of independent trials hold, in requests/s."""
    log_value = belief.log_load[:, None] - ndtri(CAPACITY_HOLDS) * belief.slope[None, :]
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
        z = (belief.log_load[:, None] - np.log(load)) / belief.slope[None, :]
        rows.append([float(ndtr(q)) for q in _weighted_quantiles(z, belief.weight)])
    low, median, high = (tuple(column) for column in zip(*rows, strict=True)) if rows else ((), (), ())
    return Band(chosen, median, low, high)


def _doubts(trials: Trials, point: Estimate, slope: Estimate) -> Iterable[str]:
    held = sorted(load for load, ok in trials if ok)
    broke = sorted(load for load, ok in trials if not ok)
    if not broke:
        most = max(held, default=0)
        yield f"no full trial failed to hold, so none says how far above {most:g}/s the breaking point may lie"
    if not held:
        least = min(broke, default=0)
        yield f"no full trial held, so none says how far below {least:g}/s the breaking point may lie"
    if slope.value > NOISY:
        far = 1 - np.exp(-ndtri(CAPACITY_HOLDS) * slope.value)
        differ = f"equal trials differ by {slope.value:.0%} from run to run"
        yield f"{differ}: the capacity lies {far:.0%} below the breaking point"
    for load, ok in sorted(set(trials)):
        z = (np.log(point.value) - np.log(load)) / slope.value
        chance = float(ndtr(z if ok else -z))
        if chance < 0.01:
            verb = "held" if ok else "did not hold"
            yield f"a trial at {load:g}/s {verb}, which the others give a chance of {chance:.1%}"


def _quantiles(log_value: Floats, weight: Floats) -> Estimate:
    """Of a marginal on an even grid of logarithms: interpolated, each point standing for the cell around it."""
    tail = (1 - CREDIBLE) / 2
    at = np.interp([tail, 0.5, 1 - tail], np.cumsum(weight) - weight / 2, log_value)
    low, median, high = (float(x) for x in np.exp(at))
    return Estimate(median, low, high)


def _weighted_quantiles(value: Floats, weight: Floats) -> tuple[float, float, float]:
    """Low, median and high quantile of any function of the grid."""
    flat = value.ravel()
    order = np.argsort(flat)
    tail = (1 - CREDIBLE) / 2
    low, median, high = np.interp([tail, 0.5, 1 - tail], np.cumsum(weight.ravel()[order]), flat[order])
    return float(low), float(median), float(high)
