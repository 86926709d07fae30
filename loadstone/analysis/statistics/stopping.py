"""How well a treatment is known after some repetitions: what a rule that ends them looks at."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.analysis.statistics.effect import ALPHA
from loadstone.analysis.statistics.mean import mean


def precision(values: Sequence[float], alpha: float = ALPHA) -> float:
    """Half the width of the interval of the geometric mean over runs, relative to it: 0.02 is +-2 %.

    Infinite for fewer than two runs. Looked at several times, the interval at which one stops covers the truth a
    little less often than stated: docs/explanation/comparison.md has the numbers.
    """
    if not len(values):
        return float("inf")
    known = mean(values, alpha)
    return known.high / known.value - 1
