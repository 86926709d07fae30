"""The posterior of a breaking point on a grid, from trials that held the SLO or did not.

Every trial has a limit c of its own: it holds where its load x lies below, and c is normal around b with standard
deviation s b: b is the breaking point, s the slope (how far, relative to b, a run's own limit strays from run to run).
So a trial at load x holds with probability lapse/2 + (1 - lapse) Phi((1 - x / b) / s); the lapse lets single trials
lie for reasons that have nothing to do with load. In an episode of several trials the system sustains less or more than
it usually does: b is what it usually sustains (``episodes.py``). Normal limits are the cautious choice: log-normal
ones, which rarely lie far below b, overestimate the capacity where equal trials differ much
(docs/explanation/performance.md).

The grid over ln b and ln s needs no sampler, is the same in every process and takes milliseconds.

Sources: the adaptive probit grid is Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and
threshold" (Vision Research 39, 1999); the lapse is Wichmann and Hill, "The psychometric function: I" (Perception &
Psychophysics 63, 2001).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from loadstone.analysis.episodes import FACTORS, Episode, Floats, episodes, log_likelihood, probabilities


class TrialOutcome(NamedTuple):
    """A valid trial: offered load in requests/s, and whether it held."""

    load: float
    held: bool


Trials = Sequence[TrialOutcome] | Sequence[tuple[float, bool]]
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
_BEYOND = 4.0
"""The prior of the breaking point is flat in its logarithm from the lowest load tried / 4 to the highest x 4."""


@dataclass(frozen=True)
class Posterior:
    """What is believed of the breaking points ``exp(log_load)`` with the slopes ``slope``: ``weight`` has it."""

    log_load: Floats
    slope: Floats
    weight: Floats
    """By load and slope; sums to 1."""

    def log_evidence(self, fresh: Trials, factor: float) -> float:
        """The log-probability of the verdicts of ``fresh`` trials if every breaking point were ``factor`` as high."""
        verdicts = _verdicts(self.log_load + np.log(factor), self.slope, fresh)
        return float(logsumexp(verdicts, b=self.weight))


def posterior(trials: Trials, short: Trials = ()) -> Posterior:
    """The joint posterior of breaking point and slope.

    ``trials`` are of full duration; ``short`` ones (the bracket) shape only the prior, shifted and blurred.
    Raises ValueError without any trial or with a load that is not a positive finite number.
    """
    loads = [trial[0] for trial in (*trials, *short)]
    if not loads:
        raise ValueError("no trial to estimate a breaking point from")
    for load in loads:
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"load {load!r} is not a positive number of requests per second")
    low, high = np.log(min(loads) / _BEYOND), np.log(max(loads) * _BEYOND)
    wide = np.linspace(low, high, int((high - low) / _COARSE) + 2)
    coarse = _on_grid(wide, SLOPES[::3], trials, short)
    # The second grid spends its points where the first found the mass.
    heavy = np.flatnonzero(coarse.weight.sum(axis=1) > 1e-5)
    first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(wide) - 1)
    return _on_grid(np.linspace(wide[first], wide[last], _FINE_POINTS), SLOPES, trials, short)


def _on_grid(log_load: Floats, log_slope: Floats, trials: Trials, short: Trials) -> Posterior:
    slope = np.exp(log_slope)
    prior = -0.5 * ((log_slope - np.log(SLOPE_MEDIAN)) / SLOPE_SPREAD) ** 2
    log_weight = prior + _verdicts(log_load + SHORT_SHIFT, np.hypot(slope, SHORT_NOISE), short, SHORT_LAPSE)
    if trials:
        log_weight += log_likelihood(_by_state(log_load, slope, trials))
    weight = np.exp(log_weight - log_weight.max())
    return Posterior(log_load, slope, weight / weight.sum())


def episodes_of(belief: Posterior, trials: Trials) -> list[Episode]:
    """The episodes among ``trials``, which are all that ``belief`` rests on at full weight."""
    return episodes(probabilities(_by_state(belief.log_load, belief.slope, trials), belief.weight)) if trials else []


def _by_state(log_load: Floats, slope: Floats, trials: Trials) -> list[Floats]:
    """The likelihood of each outcome by state of the machine, load and slope; equal outcomes are computed once."""
    found = {
        (load, held): np.stack([_likelihood(log_load + np.log(factor), slope, load, held) for factor in FACTORS])
        for load, held in {(trial[0], trial[1]) for trial in trials}
    }
    return [found[trial[0], trial[1]] for trial in trials]


def _verdicts(log_load: Floats, slope: Floats, trials: Trials, lapse: float = LAPSE) -> Floats:
    """Log-likelihood of what held and what did not, by load and slope, if there is no episode."""
    total: Floats = np.zeros((len(log_load), len(slope)))
    for (load, held), count in sorted(Counter((trial[0], trial[1]) for trial in trials).items()):
        total += count * np.log(_likelihood(log_load, slope, load, held, lapse))
    return total


def _likelihood(log_load: Floats, slope: Floats, load: float, held: bool, lapse: float = LAPSE) -> Floats:
    """The probability of an outcome, by load and slope."""
    z = z_scores(log_load, slope, load)
    found: Floats = lapse / 2 + (1 - lapse) * ndtr(z if held else -z)
    return found


def z_scores(log_load: Floats, slope: Floats, load: float) -> Floats:
    """How many standard deviations ``load`` lies below each breaking point, by breaking point and slope."""
    z: Floats = (1 - load * np.exp(-log_load))[:, None] / slope
    return z
