"""Means over runs of one treatment, each with its interval by Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from loadstone.analysis.statistics.effect import ALPHA


class Mean(NamedTuple):
    """A mean and the ends of its interval: all that is possible for a single run."""

    value: float
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float] | tuple[None, None]:
        """The ends of the interval; None and None for a single run, of which nothing is known."""
        return (self.low, self.high) if isfinite(self.high) else (None, None)


def mean(values: Sequence[float], alpha: float = ALPHA) -> Mean:
    """The geometric mean of positive values, one per run: the arithmetic one of their logarithms. Raises ValueError
    without any value."""
    return Mean(*(float(np.exp(part)) for part in arithmetic(np.log(np.asarray(values, np.float64)), alpha)))


def arithmetic(values: Sequence[float] | NDArray[np.float64], alpha: float = ALPHA) -> Mean:
    """The arithmetic mean of values, one per run. Raises ValueError without any."""
    numbers = np.asarray(values, np.float64)
    if not numbers.size:
        raise ValueError("no run, so there is no mean")
    value = float(numbers.mean())
    if numbers.size < 2:
        return Mean(value, -inf, inf)
    reach = float(stdtrit(numbers.size - 1, 1 - alpha / 2) * numbers.std(ddof=1) / np.sqrt(numbers.size))
    return Mean(value, value - reach, value + reach)
