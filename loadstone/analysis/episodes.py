"""Episodes: trials in a row in which the system sustained less, or more, than it usually did.

A machine that others share has bad minutes: a dozen trials in a row break at loads that held before and will hold
again. Taken for independent, such trials widen the estimate, move it or contradict it, although the system did not
change.

Model: a hidden Markov chain. The system is in its usual state, or in an episode, in which its breaking point is one of
``FACTORS`` times the usual; after each trial one begins with probability ``BEGINS`` and ends with probability ``ENDS``.
For every breaking point and slope the probability of the outcomes is summed over all courses of the chain.

Sources: Rabiner, "A tutorial on hidden Markov models" (Proceedings of the IEEE 77, 1989), for the forward and backward
recursions; Hamilton, "A new approach to the economic analysis of nonstationary time series" (Econometrica 57, 1989),
for regimes that come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FACTORS = (1.0, 0.6, 0.75, 1.33, 1.67)
"""The breaking point in each state, relative to that in the usual one, which is the first."""
BEGINS, ENDS = 1 / 60, 1 / 10
"""One in four searches of twenty trials meets an episode, which lasts ten trials: two minutes of short ones."""
LIKELY = 0.5
"""The probability from which on a trial counts as one of an episode."""
SURE = 0.8
"""The least that the surest trial of an episode has: below it there may have been none."""


@dataclass(frozen=True)
class Episode:
    """Trials ``first`` to ``last``, counted from 0, and how much the system sustained in them."""

    first: int
    last: int
    probability: float
    """That of the trial that is the surest."""
    factor: float
    """Relative to the usual state: 0.75 is a quarter less."""


def log_likelihood(likelihoods: Sequence[Floats]) -> Floats:
    """The logarithm of the probability of all outcomes, by breaking point and slope.

    ``likelihoods``: of each outcome in turn, by state, breaking point and slope.
    """
    total, state = _beginning(likelihoods)
    for likelihood in likelihoods:
        state = state * likelihood
        norm = state.sum(axis=0)
        total += np.log(norm)
        state = _step(state / norm)
    return total


def probabilities(likelihoods: Sequence[Floats], weight: Floats) -> Floats:
    """The probability of each state in each trial, by trial and state; ``weight``: by breaking point and slope."""
    _, state = _beginning(likelihoods)
    forward = []
    for likelihood in likelihoods:
        state = state * likelihood
        state = state / state.sum(axis=0)
        forward.append(state)
        state = _step(state)
    found = np.empty((len(likelihoods), len(FACTORS)))
    backward = np.ones_like(state)
    for at in range(len(likelihoods) - 1, -1, -1):
        both = forward[at] * backward
        found[at] = (both / both.sum(axis=0) * weight).sum(axis=(1, 2))
        backward = _step_back(backward * likelihoods[at])
        backward = backward / backward.sum(axis=0)
    return found


def episodes(found: Floats) -> list[Episode]:
    """The trials in a row that likely lie in an episode, one of them surely, from the probabilities of their states."""
    unusual = 1 - found[:, 0]
    episodes = []
    for likely, group in groupby(range(len(found)), key=lambda at: bool(unusual[at] > LIKELY)):
        trials = list(group)
        if likely and unusual[trials].max() >= SURE:
            factor = np.exp(found[trials, 1:].sum(axis=0) @ np.log(FACTORS[1:]) / unusual[trials].sum())
            episodes.append(Episode(trials[0], trials[-1], float(unusual[trials].max()), float(factor)))
    return episodes


def _beginning(likelihoods: Sequence[Floats]) -> tuple[Floats, Floats]:
    """A logarithm of 1 for each breaking point and slope, and the probability of each state before the first trial."""
    shape = likelihoods[0].shape[1:]
    state = np.full((len(FACTORS), *shape), BEGINS / (len(FACTORS) - 1))
    state[0] = 1 - BEGINS
    return np.zeros(shape), state


def _step(state: Floats) -> Floats:
    """The probabilities before the next trial, from those after this one, which sum to 1."""
    usual = state[0]
    later: Floats = state * (1 - ENDS) + usual * (BEGINS / (len(FACTORS) - 1))
    later[0] = usual * (1 - BEGINS) + (1 - usual) * ENDS
    return later


def _step_back(backward: Floats) -> Floats:
    """What ``_step`` does, transposed: likelihoods of all later outcomes, by the state in the trial before."""
    earlier: Floats = backward * (1 - ENDS) + backward[0] * ENDS
    earlier[0] = backward[0] * (1 - BEGINS) + backward[1:].mean(axis=0) * BEGINS
    return earlier
