"""The one definition of a percentile of recorded requests: the smallest value that at least q % do not exceed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDING = 1e-15
"""What q / 100 * size may be off by, relatively: q is seldom a binary fraction (99.9), and two operations round."""


def ranks(percents: Sequence[float] | Floats, size: int) -> Ints:
    """The places, from 1, of percentiles (0 to 100) among ``size`` (at least one) values in ascending order."""
    exact = np.asarray(percents, np.float64) / 100 * size
    up: Ints = np.clip(np.ceil(exact * (1 - _ROUNDING)), 1, size).astype(np.int64)
    return up


def of_sorted(values: ArrayLike, percents: Sequence[float] | Floats) -> Floats:
    """The percentiles of values in ascending order, at least one."""
    ascending = np.asarray(values, np.float64)
    found: Floats = ascending[ranks(percents, len(ascending)) - 1]
    return found


def of_counted(values: ArrayLike, counts: ArrayLike, percents: Sequence[float] | Floats) -> Floats:
    """The percentiles of distinct values in ascending order, with how often each was seen."""
    found: Floats = np.asarray(values, np.float64)[bins(counts, percents)]
    return found


def bins(counts: ArrayLike, percents: Sequence[float] | Floats) -> Ints:
    """The index of the bin that each percentile lies in, of a histogram whose bins ascend and hold something."""
    upto = np.cumsum(np.asarray(counts, np.int64))
    found: Ints = np.searchsorted(upto, ranks(percents, int(upto[-1]))).astype(np.int64)
    return found
