"""Changes of a quantity from run to run: how probable one is after each run, whatever number of them there is.

Model: between two changes the true value is constant. A run's logarithm strays from it normally, by what the run itself
says (``sd``) and by what runs of the same build differ on the same machine (``between``), which is unknown and
integrated over. After each run there is a change with probability ``RATE``; a new value is normal around the old ones
with a standard deviation of ``JUMP``.

Source: Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems" (Statistics and Computing
16, 2006), whose forward and backward recursions give every probability exactly, without sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RATE = 0.02
"""A change every fifty runs: what a change must be more probable than by its data."""
JUMP = 0.3
BETWEEN = np.geomspace(0.003, 0.3, 16)
"""What equal runs differ: 0.3 % to 30 %, each as likely by its logarithm."""
CERTAIN = 0.95
_NEAR = 1
"""A change is reported once for runs that are so near to each other: data may not tell between which two it was."""
_Z = 1.959964


@dataclass(frozen=True)
class ChangePoint:
    """A change between run ``at - 1`` and run ``at``."""

    at: int
    probability: float
    ratio: float
    """The level after it, relative to the one before."""
    low: float
    high: float


def probabilities(logs: Sequence[float], sds: Sequence[float | None]) -> Floats:
    """The probability of a change before each run; 0 before the first. ``logs`` are natural logarithms."""
    y = np.asarray(logs, dtype=float)
    if len(y) < 2:
        return np.zeros(len(y))
    known = np.array([sd or 0.0 for sd in sds])
    evidence, found = _given(y, known**2 + BETWEEN[:, None] ** 2)
    weights = np.exp(evidence - np.logaddexp.reduce(evidence))
    total: Floats = weights @ found
    return total


def changes(logs: Sequence[float], sds: Sequence[float | None]) -> list[ChangePoint]:
    """The changes that are certain, the earliest first, with the ratio of the levels around each."""
    p = probabilities(logs, sds)
    near = np.array([min(1.0, p[max(0, i - _NEAR) : i + _NEAR + 1].sum()) for i in range(len(p))])
    places: list[int] = []
    for i in sorted(range(1, len(p)), key=lambda i: -p[i]):
        if near[i] >= CERTAIN and all(abs(i - other) > _NEAR for other in places):
            places.append(i)
    if not places:
        return []
    places.sort()
    edges = [0, *places, len(p)]
    levels = [_level(logs[a:b], sds[a:b]) for a, b in pairwise(edges)]
    found = []
    for number, at in enumerate(places):
        (before, sd_before), (after, sd_after) = levels[number], levels[number + 1]
        size, around = after - before, _Z * float(np.hypot(sd_before, sd_after))
        ratio, low, high = (float(np.exp(x)) for x in (size, size - around, size + around))
        found.append(ChangePoint(at, float(near[at]), ratio, low, high))
    return found


def _given(y: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """The log-evidence, and the probability of a change before each run, for each row of ``variances``."""
    rows, count = variances.shape
    segment = _segments(y - y.mean(), variances)
    stay, change = np.log1p(-RATE), np.log(RATE)
    # forward[j]: of all runs before j, with a change right before j; backward[i]: of those from i on, likewise.
    forward, backward = np.full((rows, count + 1), -np.inf), np.full((rows, count + 1), -np.inf)
    forward[:, 0] = backward[:, count] = 0.0
    for j in range(1, count + 1):
        begins = np.arange(j)
        prior = np.where(begins > 0, change, 0.0) + stay * (j - begins - 1)
        forward[:, j] = np.logaddexp.reduce(forward[:, :j] + prior + segment[:, :j, j], axis=1)
    for i in range(count - 1, -1, -1):
        ends = np.arange(i + 1, count + 1)
        prior = np.where(ends < count, change, 0.0) + stay * (ends - i - 1)
        backward[:, i] = np.logaddexp.reduce(backward[:, i + 1 :] + prior + segment[:, i, i + 1 :], axis=1)
    evidence = forward[:, count]
    p = np.exp(forward[:, :count] + change + backward[:, :count] - evidence[:, None])
    p[:, 0] = 0.0
    return evidence, p


def _segments(y: Floats, variances: Floats) -> Floats:
    """The log-likelihood of the runs ``i`` to ``j - 1`` around one unknown level, by row and ``[i, j]``."""
    weight = 1 / variances
    parts = (weight, weight * y, weight * y * y, np.log(variances))
    sums = [np.concatenate([np.zeros((len(each), 1)), np.cumsum(each, axis=1)], axis=1) for each in parts]
    w, wy, wyy, log_v = (each[:, None, :] - each[:, :, None] for each in sums)
    places = np.arange(len(y) + 1)
    size = places[None, :] - places[:, None]
    w = np.where(size > 0, w, 0.0)  # what lies below the diagonal is no segment, and not used
    quadratic = wyy - wy**2 / (w + 1 / JUMP**2)
    found: Floats = -0.5 * (size * np.log(2 * np.pi) + log_v + np.log(1 + JUMP**2 * w) + quadratic)
    return found


def _level(logs: Sequence[float], sds: Sequence[float | None]) -> tuple[float, float]:
    """The mean of a segment and its standard error, by the runs' own intervals and by their spread, the larger."""
    y, known = np.asarray(logs, dtype=float), np.array([sd or 0.0 for sd in sds])
    own = float(np.sqrt((known**2).sum())) / len(y)
    spread = float(y.std(ddof=1)) / np.sqrt(len(y)) if len(y) > 1 else 0.0
    return float(y.mean()), max(own, spread, float(BETWEEN[0]) / np.sqrt(len(y)))
