"""The geometric mean over runs of one treatment, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from loadstone.analysis.statistics.effect import ALPHA


class Mean(NamedTuple):
    """A geometric mean and the ends of its interval, 0 and infinity for a single run."""

    value: float
    low: float
    high: float


def mean(values: Sequence[float], alpha: float = ALPHA) -> Mean:
    """The geometric mean of positive values, one per run, by Student's t over their logarithms; raises ValueError
    without any value."""
    if not len(values):
        raise ValueError("no run, so there is no mean")
    logarithms = np.log(np.asarray(values, np.float64))
    value = float(np.exp(logarithms.mean()))
    if len(values) < 2:
        return Mean(value, 0.0, float("inf"))
    reach = stdtrit(len(values) - 1, 1 - alpha / 2) * logarithms.std(ddof=1) / np.sqrt(len(values))
    factor = float(np.exp(reach))
    return Mean(value, value / factor, value * factor)
