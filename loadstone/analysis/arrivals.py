"""Tests whether arrival times are those of a Poisson process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]


def exponential_distance(gaps: Times) -> float:
    """The Kolmogorov-Smirnov distance of gaps from the exponential distribution of their own mean."""
    expected = -np.expm1(-np.sort(gaps) / gaps.mean())
    steps = np.arange(len(gaps) + 1) / len(gaps)
    return float(max((expected - steps[:-1]).max(), (steps[1:] - expected).max()))


def dispersion(at: Times, window_s: float) -> float:
    """The index of dispersion of the counts in windows of this length; the last one, which is not whole, is left out.

    ``at`` are seconds from the first window's begin. The index is the counts' variance by their mean: 1 for a Poisson
    process, more where arrivals come in clumps, less where they keep distance.
    """
    counts = np.bincount((at / window_s).astype(np.int64))[:-1]
    return float(counts.var() / counts.mean())
