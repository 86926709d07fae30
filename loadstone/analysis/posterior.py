"""The posterior of a breaking point on a grid, from trials that held the SLO or did not.

Every trial has a limit c of its own: it holds where its load x lies below, and ln c is normal around ln b with standard
deviation s: b is the breaking point, s the slope (how far, relative to b, a run's own limit strays from run to run).
So a trial at load x holds with probability lapse/2 + (1 - lapse) Phi((ln b - ln x) / s); the lapse lets single trials
lie for reasons that have nothing to do with load.

A trial's *margin* (``experiments/margin.py``) says how far its limit was: 0 at the limit, growing with the distance
above (held) or below (broke). How far in load a margin is depends on the system, so it is learnt: margin m is the
distance r m in ln x, with one reach r for trials that held and one for those that broke, which single trials miss by a
tenth or by half. Which of the two is learnt as well, lest what margins miss by pass for slope, or slope for it. Margins
enter only as ranks between ``EDGES``, and the last is open: that a margin grows with the distance is assumed near the
limit, and nothing beyond it. Margins only place trials: intervals that believe them are narrower than they may be,
since a system need not be as the line says, and a search stops when its interval happens to be narrow.

The grid over ln b, ln s, ln r and the misses needs no sampler, is the same in every process and takes milliseconds.

Sources: the adaptive probit grid is Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and
threshold" (Vision Research 39, 1999); the lapse is Wichmann and Hill, "The psychometric function: I" (Perception &
Psychophysics 63, 2001); ranks with unknown edges are the ordinal probit of McCullagh, "Regression models for ordinal
data" (J. Royal Statistical Society B 42, 1980).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

Floats = NDArray[np.float64]


class Trial(NamedTuple):
    """A valid trial: offered load in requests/s, whether it held, and its margin: >= 0 held, <= 0 broke, or unknown."""

    load: float
    held: bool
    margin: float | None = None


Trials = Sequence[Trial] | Sequence[tuple[float, bool]]
"""The order does not matter; pairs have no margin."""

LAPSE = 0.03
EDGES = {True: (0.0, 0.03, 0.1, 0.25, 0.5, 1.0, 2.0), False: (0.0, 0.25, 1.0, 3.0, 8.0, 20.0)}
"""Of margins, for trials that held and that broke; beyond the last one, only that it is beyond."""
MISSES = (0.1, 0.5)
"""Standard deviations of a single trial's reach, relative to the system's. If only the larger were believed, it would
explain what margins differ by between equal trials, and the slope would come out too small for systems whose margins
are exact; by the smaller alone, too large for others."""
_SPREADS, _MISSES = (axis.ravel() for axis in np.meshgrid(np.linspace(-1.75, 1.75, 6), MISSES))
REACHES = {
    held: median * np.exp(1.5 * _SPREADS) * np.array([np.ones_like(_MISSES), _MISSES])
    for held, median in ((True, 0.2), (False, 0.03))
}
"""The reaches, and what single trials miss each by. Their prior is log-normal, 95 % within a factor of 19: eight
workers that break steeply have about 0.05 and 0.008, one whose latency grows as M/M/1 does has 1 and 0.1."""
_REACH_PRIOR = -0.5 * _SPREADS**2

SHORT_SHIFT, SHORT_NOISE = 0.013, 0.05
"""Short trials break 1.2-1.4 % later than full ones in simulation; how much on a real system is unknown, so a short
trial speaks of the breaking point only through this much extra noise, and its margin not at all."""
SHORT_LAPSE = 0.1
"""One that was lucky or unlucky must not hold up a search."""

SLOPES = np.linspace(np.log(0.004), np.log(0.6), 19)
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


def posterior(trials: Trials, short: Trials = (), margins: bool = False) -> Posterior:
    """The joint posterior of breaking point and slope.

    ``trials`` are of full duration; ``short`` ones (the bracket) shape only the prior, shifted and blurred.
    With ``margins`` those of ``trials`` are believed, too.
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
    measured = trials if margins else ()
    coarse = _on_grid(wide, SLOPES[::3], trials, short, measured, 2)
    # The second grid spends its points where the first found the mass.
    heavy = np.flatnonzero(coarse.weight.sum(axis=1) > 1e-5)
    first, last = max(heavy[0] - 1, 0), min(heavy[-1] + 1, len(wide) - 1)
    return _on_grid(np.linspace(wide[first], wide[last], _FINE_POINTS), SLOPES, trials, short, measured)


def _on_grid(
    log_load: Floats, log_slope: Floats, trials: Trials, short: Trials, measured: Trials, every: int = 1
) -> Posterior:
    slope = np.exp(log_slope)
    prior = -0.5 * ((log_slope - np.log(SLOPE_MEDIAN)) / SLOPE_SPREAD) ** 2
    log_weight = prior + _verdicts(log_load, slope, trials) + _margins(log_load, slope, measured, every)
    log_weight += _verdicts(log_load + SHORT_SHIFT, np.hypot(slope, SHORT_NOISE), short, SHORT_LAPSE)
    weight = np.exp(log_weight - log_weight.max())
    return Posterior(log_load, slope, weight / weight.sum())


def _verdicts(log_load: Floats, slope: Floats, trials: Trials, lapse: float = LAPSE) -> Floats:
    """Log-likelihood of what held and what did not, by load and slope; equal outcomes are computed once."""
    total: Floats = np.zeros((len(log_load), len(slope)))
    for (load, held), count in sorted(Counter((trial[0], trial[1]) for trial in trials).items()):
        total += count * np.log(lapse / 2 + (1 - lapse) * ndtr(_distance(log_load, load, held) / slope))
    return total


def _margins(log_load: Floats, slope: Floats, trials: Trials, every: int) -> Floats:
    """Log-likelihood of the ranks of margins given the verdicts, by load and slope, over all reaches."""
    total: Floats = np.zeros((len(log_load), len(slope)))
    ranks = sorted(Counter(_ranked(trials)).items())
    for side in {held for (_, held, _), _ in ranks}:
        edges, reaches = EDGES[side], REACHES[side][:, ::every]
        by_reach = np.zeros((*total.shape, reaches.shape[1])) + _REACH_PRIOR[::every]
        for (load, held, rank), count in ranks:
            if held != side:
                continue
            distance = _distance(log_load, load, held)
            holds = _beyond(0.0, distance, slope, reaches)
            share = _beyond(edges[rank], distance, slope, reaches)
            if rank + 1 < len(edges):
                share = np.maximum(share - _beyond(edges[rank + 1], distance, slope, reaches), 0)
            lapse = LAPSE / 2 / len(edges)
            given = (lapse + (1 - LAPSE) * share) / (LAPSE / 2 + (1 - LAPSE) * holds)
            by_reach += count * np.log(given)
        total += logsumexp(by_reach, axis=2)
    return total


def _distance(log_load: Floats, load: float, held: bool) -> Floats:
    """How far a breaking point lies on the side of ``load`` that the verdict speaks for: a column."""
    distance: Floats = (1 if held else -1) * (log_load - np.log(load))[:, None]
    return distance


def _ranked(trials: Trials) -> Iterable[tuple[float, bool, int]]:
    """Load, whether it held, and the rank of its margin, of each trial that has one."""
    for load, held, margin in (Trial(*trial) for trial in trials):
        if margin is not None:
            yield load, held, int(np.searchsorted(EDGES[held], abs(margin), side="right")) - 1


def _beyond(edge: float, distance: Floats, slope: Floats, reach: Floats) -> Floats:
    """The probability that a trial's own limit is at least ``edge`` reaches away: by load, slope and reach."""
    if edge == 0:
        share: Floats = ndtr(distance / slope)[:, :, None]
        return share
    far, stray = edge * reach
    return _normal((distance[:, :, None] - far) / np.hypot(slope[:, None], stray))


def _normal(z: Floats) -> Floats:
    """The normal distribution to 0.0003, which a lapse hides, in a quarter of the time.

    Source: Page, "Approximations to the cumulative normal function" (Applied Statistics 26, 1977).
    """
    result: Floats = 0.5 + 0.5 * np.tanh(z * (0.7988 + 0.03562 * z * z))
    return result
