"""Where and how two distributions differ: four distances and the shift of each percentile. They describe, never decide.

Requests of one run are not independent, so a p-value of pooled requests calls nearly every pair of equal systems
different (docs/explanation/comparison.md has the rates): none is given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.percentiles import of_counted
from loadstone.analysis.statistics.differences import paired, unpaired
from loadstone.analysis.statistics.effect import ALPHA
from loadstone.analysis.statistics.merging import Sample, distances, pool

PERCENTILES = (5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
BEYOND = 10
"""Observations of a run that must lie beyond a percentile for it to be shown."""


@dataclass(frozen=True)
class Shift:
    """How far one percentile moved from A to B, in the unit of the values (Doksum's shift function)."""

    percentile: float
    a: float
    """The mean over A's runs."""
    b: float
    shift: float
    """b - a."""
    low: float
    """The lower end of the shift's interval, from run to run; infinite for a single run."""
    high: float


@dataclass(frozen=True)
class Shape:
    """Distances between the pooled samples of A and B, and where they come from."""

    ks: float
    """Kolmogorov and Smirnov: the largest difference between the two shares below a value, 0 to 1."""
    ad: float
    """Anderson and Darling, standardised: weighs the tails more."""
    cvm: float
    """Cramer and von Mises: the difference of the shares, squared and summed."""
    wasserstein: float
    """The mean distance that a request moved, in the unit of the values."""
    shifts: tuple[Shift, ...]


def shape(a: Sequence[Sample], b: Sequence[Sample], in_blocks: bool = True, alpha: float = ALPHA) -> Shape:
    """The distances between the runs ``a`` and ``b``; where ``in_blocks``, run i of both is of the same block.

    A side without a run, or blocks that do not match, raise ValueError.
    """
    if not (a and b):
        raise ValueError("a side has no run")
    if in_blocks and len(a) != len(b):
        raise ValueError(f"{len(a)} runs of A and {len(b)} of B are no blocks")
    ks, ad, cvm, wasserstein = (float(value) for value in distances([pool(a), pool(b)], [(0, 1)])[0])
    smallest = min(each.size for each in (*a, *b))
    shown = [percentile for percentile in PERCENTILES if _observations_beyond(smallest, percentile) >= BEYOND]
    return Shape(ks, ad, cvm, wasserstein, tuple(_shifts(a, b, shown, in_blocks, alpha)))


def _observations_beyond(size: int, percentile: float) -> float:
    return size * min(percentile, 100 - percentile) / 100 + 1e-9


def _shifts(
    a: Sequence[Sample], b: Sequence[Sample], shown: Sequence[float], in_blocks: bool, alpha: float
) -> list[Shift]:
    of_a, of_b = (np.array([of_counted(each.values, each.counts, shown) for each in side]) for side in (a, b))
    found = []
    for column, percentile in enumerate(shown):
        test = paired if in_blocks else unpaired
        tested = test(of_a[:, column], of_b[:, column], alpha)
        before, after = float(of_a[:, column].mean()), float(of_b[:, column].mean())
        found.append(Shift(percentile, before, after, after - before, tested.low, tested.high))
    return found
