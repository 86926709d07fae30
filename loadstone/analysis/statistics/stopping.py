"""How well a treatment is known after some repetitions: what a rule that ends them looks at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from loadstone.analysis.statistics.effect import ALPHA


def precision(values: Sequence[float], alpha: float = ALPHA) -> float:
    """Half the width of the interval of the geometric mean over runs, relative to it: 0.02 is +-2 %.

    Infinite for fewer than two runs. Looked at several times, the interval at which one stops covers the truth a
    little less often than stated: docs/explanation/comparison.md has the numbers.
    """
    if len(values) < 2:
        return float("inf")
    logarithms = np.log(np.asarray(values, np.float64))
    reach = stdtrit(len(values) - 1, 1 - alpha / 2) * logarithms.std(ddof=1) / np.sqrt(len(values))
    return float(np.expm1(reach))
