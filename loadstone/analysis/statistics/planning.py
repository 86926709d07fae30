"""How many pairs a difference takes, and what difference some pairs can see: by the noncentral t.

Effects are ratios less 1 (0.02: 2 % slower), spreads are standard deviations of logarithms, as in ``Effect.sd``.
Where runs are not paired, ``pairs`` are the runs of each side and ``sd`` is that from run to run. The exact tests that
decide can reach certain levels only: power is that of a t-test at the level they reach, which simulation confirms to 2
points from 7 pairs on; with 6, sign-flip finds up to 8 points less.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, expm1, floor, log1p

import numpy as np
from scipy.special import nctdtr, stdtrit

from loadstone.analysis.statistics.effect import ALPHA, FEWEST_PAIRS, FEWEST_RUNS, POWER, Method

MOST = 10_000
"""The most pairs that are planned."""


def power(pairs: int, sd: float, effect: float, alpha: float = ALPHA, method: Method = "paired") -> float:
    """The probability that a difference of ``effect`` is found at level ``alpha``."""
    level = reached(pairs, alpha, method)
    if not level:
        return 0.0
    freedom, error = _error(pairs, sd, method)
    far = abs(log1p(effect)) / error
    critical = float(stdtrit(freedom, 1 - level / 2))
    return _above(critical, freedom, far) + _above(critical, freedom, -far)


def power_of_equality(
    pairs: int, sd: float, effect: float, margin: float, alpha: float = ALPHA, method: Method = "paired"
) -> float:
    """The probability that two that differ by ``effect`` are called equal within ``margin`` (Phillips, 1990)."""
    freedom, error = _error(pairs, sd, method)
    critical = float(stdtrit(freedom, 1 - alpha))
    near, far = (log1p(margin) - abs(log1p(effect))) / error, (log1p(margin) + abs(log1p(effect))) / error
    return max(0.0, _above(critical, freedom, near) + _above(critical, freedom, far) - 1)


def needed_pairs(sd: float, effect: float, alpha: float = ALPHA, method: Method = "paired") -> int | None:
    """The fewest pairs that find ``effect`` with the power ``POWER``; None where 10,000 would not do."""
    return _fewest(lambda pairs: power(pairs, sd, effect, alpha, method) >= POWER, least(alpha, method))


def needed_for_equality(
    sd: float, effect: float, margin: float, alpha: float = ALPHA, method: Method = "paired"
) -> int | None:
    """The fewest pairs that call equal, with the power ``POWER``, what differs by ``effect``; None likewise."""
    low = FEWEST_PAIRS if method == "paired" else FEWEST_RUNS
    return _fewest(lambda pairs: power_of_equality(pairs, sd, effect, margin, alpha, method) >= POWER, low)


def detectable(sd: float, pairs: int, alpha: float = ALPHA, method: Method = "paired") -> float:
    """The detection limit: the smallest slowdown that ``pairs`` find with the power ``POWER``, 0.02 for 2 %.

    Infinite below the fewest pairs that can reach ``alpha`` at all.
    """
    if pairs < least(alpha, method):
        return float("inf")
    if sd == 0:
        return 0.0
    low, high = 0.0, 1.0
    while power(pairs, 1.0, expm1(high), alpha, method) < POWER:
        high *= 2
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if power(pairs, 1.0, expm1(middle), alpha, method) >= POWER else (middle, high)
    return expm1(high * sd)


def least(alpha: float = ALPHA, method: Method = "paired") -> int:
    """The fewest pairs with which the exact p can be as small as ``alpha``: 6 at 5 %, 9 for eight tests together."""
    runs = FEWEST_PAIRS if method == "paired" else FEWEST_RUNS
    while not reached(runs, alpha, method):
        runs += 1
    return runs


def reached(pairs: int, alpha: float, method: Method) -> float:
    """The largest level up to ``alpha`` that the exact test of so many pairs, or runs of each side, can have."""
    if pairs > 25:
        return alpha
    ways = 2 ** (pairs - 1) if method == "paired" else comb(2 * pairs, pairs) // 2
    return floor(alpha * ways * (1 + 1e-12)) / ways


def _fewest(enough: Callable[[int], bool], low: int) -> int | None:
    """The smallest number of pairs from ``low`` on that is ``enough``, which must grow with their number."""
    high = low
    while not enough(high):
        low, high = high + 1, 2 * high
        if low > MOST:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _error(pairs: int, sd: float, method: Method) -> tuple[float, float]:
    """Degrees of freedom, and the standard error of a difference."""
    if method == "paired":
        return pairs - 1.0, max(sd, 1e-12) / float(np.sqrt(pairs))
    return 2.0 * (pairs - 1), max(sd, 1e-12) * float(np.sqrt(2 / pairs))


def _above(value: float, freedom: float, centre: float) -> float:
    """P(T > value) of the noncentral t around ``centre``, for a positive value."""
    side = 1.0 if centre >= 0 else -1.0
    below = float(nctdtr(freedom, abs(centre), side * value))
    if np.isnan(below):  # far from the centre, where the series gives up, it is 0 or 1
        below = float(abs(centre) < side * value)
    return 1 - below if side > 0 else below
