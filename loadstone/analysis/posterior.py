"""The posterior of a breaking point on a grid, from trials that held the SLO or did not.

Every trial has a limit c of its own: it holds where its load x lies below, and c is normal around b with standard
deviation s b: b is the breaking point, s the slope (how far, relative to b, a run's own limit strays from run to run).
So a trial at load x holds with probability lapse/2 + (1 - lapse) Phi((1 - x / b) / s); the lapse lets single trials
lie for reasons that have nothing to do with load. Where the machine was observed during the trials, x is the load that
would have been as hard on it as it usually was (``trial_outcome.py``). In an episode of several trials the system
sustains less or more than it usually does: b is what it usually sustains (``episodes.py``). Normal limits are the
cautious choice: log-normal ones, which rarely lie far below b, overestimate the capacity where equal trials differ much
(docs/explanation/performance.md).

The grid over ln b and ln s needs no sampler, is the same in every process and takes milliseconds.

Sources: the adaptive probit grid is Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and
threshold" (Vision Research 39, 1999); the lapse is Wichmann and Hill, "The psychometric function: I" (Perception &
Psychophysics 63, 2001).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import logsumexp, ndtr

from loadstone.analysis.episodes import FACTORS, Episode, Floats, episodes, log_likelihood, probabilities
from loadstone.analysis.trial_outcome import (
    EXPONENTS,
    FAILS,
    UNTIMED,
    CountedTrial,
    TrialOutcome,
    UsualMachine,
    usual_machine,
)

Trials = Sequence[TrialOutcome]
"""In the order they were run."""

LAPSE = 0.03
SHORT_SHIFT, SHORT_NOISE = 0.013, 0.05
"""Short trials break 1.2-1.4 % later than full ones in simulation; how much on a real system is unknown, so a short
trial speaks of the breaking point only through this much extra noise."""
SHORT_LAPSE = 0.1
"""One that was lucky or unlucky must not hold up a search."""

SLOPES = np.linspace(np.log(0.004), np.log(0.6), 19)
"""Logarithms. Beyond 1 / 1.645 the capacity would lie below no load at all."""
SLOPE_MEDIAN, SLOPE_SPREAD = 0.06, 1.0
"""Prior of the slope: log-normal, 95 % between 0.8 % and 43 %. It decides when a search dares to stop, and so whether
intervals cover the truth where equal trials differ much, for a dozen outcomes cannot show that they do not."""
_COARSE, _FINE_POINTS = 0.012, 110
_NARROW = 0.1
"""The smallest standard deviation of a filter, in points of the grid; it changes nothing."""
_BEYOND = 4.0
"""The prior of the breaking point is flat in its logarithm from the lowest load tried / 4 to the highest x 4."""


@dataclass(frozen=True)
class Posterior:
    """What is believed of the breaking points ``exp(log_load)`` with the slopes ``slope``, on the machine as it usually
    was, and of the ``exponent`` by which they depend on its speed."""

    log_load: Floats
    slope: Floats
    exponent: Floats
    weights: Floats
    """By load, slope and exponent, if the machine's usual speed was what it seems; they sum to 1."""
    usual: UsualMachine

    @cached_property
    def weight(self) -> Floats:
        """By load and slope; sums to 1. What is uncertain of the machine's usual speed is in it."""
        total: Floats = np.zeros((len(self.log_load), len(self.slope)))
        for exponent, weights in zip(self.exponent, np.moveaxis(self.weights, -1, 0), strict=True):
            total += _spread_by(exponent * self.usual.error, self.log_load, weights)
        normal: Floats = total / total.sum()
        return normal

    @property
    def follows(self) -> float:
        """The mean of the exponent: 0 where the limit has nothing to do with the machine's speed, 1 in proportion."""
        return float(self.weights.sum(axis=(0, 1)) @ self.exponent)

    def log_evidence(self, fresh: Trials, factor: float) -> float:
        """The log-probability of the verdicts of ``fresh`` trials if every breaking point were ``factor`` as high."""
        log_load = self.log_load + np.log(factor)
        verdicts = [_verdicts(log_load, self.slope, self.usual.counted(fresh, each)) for each in self.exponent]
        return float(logsumexp(np.stack(verdicts, axis=-1), b=self.weights))


def posterior(trials: Trials, short: Trials = ()) -> Posterior:
    """The joint posterior of breaking point, slope, and exponent of the machine's speed.

    ``trials`` are of full duration; ``short`` ones (the bracket) shape only the prior, shifted and blurred.
    Raises ValueError without any trial or with a load that is not a positive finite number.
    """
    both = [*trials, *short]
    if not both:
        raise ValueError("no trial to estimate a breaking point from")
    for load in (trial.load for trial in both):
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"load {load!r} is not a positive number of requests per second")
    usual = usual_machine(both)
    exponents = UNTIMED if usual.reference_ms is None else EXPONENTS
    counted = [(usual.counted(trials, each), usual.counted(short, each)) for each in exponents]
    loads = [trial.load for full, brief in counted for trial in (*full, *brief)]
    low, high = np.log(min(loads) / _BEYOND), np.log(max(loads) * _BEYOND)

    def on_grid(log_load: Floats, log_slope: Floats) -> Posterior:
        log_weights = np.stack([_log_weight(log_load, log_slope, *each) for each in counted], axis=-1)
        weights = np.exp(log_weights - log_weights.max())
        return Posterior(log_load, np.exp(log_slope), exponents, weights / weights.sum(), usual)

    # The second grid spends its points where the first found the mass.
    wide = np.linspace(low, high, int((high - low) / _COARSE) + 2)
    heavy = np.flatnonzero(on_grid(wide, SLOPES[::3]).weight.sum(axis=1) > 1e-5)
    first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(wide) - 1)
    return on_grid(np.linspace(wide[first], wide[last], _FINE_POINTS), SLOPES)


def _spread_by(error: float, log_load: Floats, weights: Floats) -> Floats:
    """``weights``, by load and slope, where the loads have this standard error besides."""
    if not error:
        return weights
    points = max(error / (log_load[1] - log_load[0]), _NARROW)
    spread: Floats = gaussian_filter1d(weights, points, axis=0, mode="nearest")
    return spread


def _log_weight(
    log_load: Floats, log_slope: Floats, trials: Sequence[CountedTrial], short: Sequence[CountedTrial]
) -> Floats:
    """The logarithm of prior times likelihood, but for a constant, by load and slope."""
    slope = np.exp(log_slope)
    prior = -0.5 * ((log_slope - np.log(SLOPE_MEDIAN)) / SLOPE_SPREAD) ** 2
    found: Floats = prior + _verdicts(log_load + SHORT_SHIFT, np.hypot(slope, SHORT_NOISE), short, SHORT_LAPSE)
    return found + log_likelihood(_by_state(log_load, slope, trials)) if trials else found


def episodes_of(belief: Posterior, trials: Trials) -> list[Episode]:
    """The episodes among ``trials``, which are all that ``belief`` rests on at full weight."""
    if not trials:
        return []
    found = np.zeros((len(trials), len(FACTORS)))
    for exponent, weights in zip(belief.exponent, np.moveaxis(belief.weights, -1, 0), strict=True):
        counted = belief.usual.counted(trials, exponent)
        found += probabilities(_by_state(belief.log_load, belief.slope, counted), weights)
    return episodes(found)


def _by_state(log_load: Floats, slope: Floats, trials: Sequence[CountedTrial]) -> list[Floats]:
    """The likelihood of each outcome by state of the machine, load and slope; equal outcomes are computed once."""
    found = {
        trial: np.stack([_likelihood(log_load + np.log(factor), slope, trial) for factor in FACTORS])
        for trial in set(trials)
    }
    return [found[trial] for trial in trials]


def _verdicts(log_load: Floats, slope: Floats, trials: Iterable[CountedTrial], lapse: float = LAPSE) -> Floats:
    """Log-likelihood of what held and what did not, by load and slope, if there is no episode."""
    total: Floats = np.zeros((len(log_load), len(slope)))
    for trial, count in sorted(Counter(trials).items()):
        total += count * np.log(_likelihood(log_load, slope, trial, lapse))
    return total


def _likelihood(log_load: Floats, slope: Floats, trial: CountedTrial, lapse: float = LAPSE) -> Floats:
    """The probability of an outcome, by load and slope."""
    z = z_scores(log_load, slope, trial.load)
    found: Floats = lapse / 2 + (1 - lapse) * ndtr(z if trial.held else -z)
    if not trial.spoilt:
        return found
    return (1 - FAILS) * found + (0 if trial.held else FAILS)


def z_scores(log_load: Floats, slope: Floats, load: float) -> Floats:
    """How many standard deviations ``load`` lies below each breaking point, by breaking point and slope."""
    z: Floats = (1 - load * np.exp(-log_load))[:, None] / slope
    return z
