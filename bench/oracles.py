"""A bound for all methods: searches and confirmations that see each trial's limit, not only its outcome.

The logarithms of these limits are normal. No method knows more about a breaking point than one that has measured n of
them exactly, without a prior: Student's interval for the breaking point, and the interval of a normal quantile (Owen,
"A survey of properties and applications of the noncentral t-distribution", Technometrics 10, 1968) for the capacity.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import nct, norm, t

from loadstone.analysis.breaking_point import CAPACITY_HOLDS, CREDIBLE
from loadstone.analysis.confirmation import FALSE_ALARM, MISS, MOST

_TAIL = (1 - CREDIBLE) / 2


def trials(spread: float, point: float, capacity: float) -> int:
    """Trials after which both intervals are within +-``point`` and +-``capacity``, the spread being unknown."""
    of = norm.ppf(CAPACITY_HOLDS)
    for count in range(2, 10_000):
        root = np.sqrt(count)
        half = t.ppf(1 - _TAIL, count - 1) * spread / root
        ends = nct.ppf([_TAIL, 1 - _TAIL], count - 1, of * root) / root
        if half <= point and (ends[1] - ends[0]) / 2 * spread <= capacity:
            return count
    raise ValueError(f"a spread of {spread:g} takes more than 10,000 trials")


def finds(spread: float, off: float, rng: np.random.Generator, tests: int = 4000) -> float:
    """The share of estimates off by ``off`` that the confirmation's own test finds out, when all but that is known."""
    shift = np.log(1 + off) / spread
    seen = rng.normal(-shift, 1, (tests, MOST)).cumsum(axis=1)
    count = np.arange(1, MOST + 1)
    less, more = (sign * shift * seen - count * shift**2 / 2 for sign in (-1, 1))  # logarithms of the likelihood ratios
    contradicted = np.logaddexp(less, more) >= np.log(2 / FALSE_ALARM)
    over = contradicted | (np.maximum(less, more) <= np.log(MISS))
    first = over.argmax(axis=1)
    return float(np.mean(contradicted[np.arange(tests), first]))
