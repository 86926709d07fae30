"""What a comparison is made of: endpoints go in, one effect with its verdict comes out for each.

The run is the unit of replication, never the request: an endpoint is one number per run, such as its P99.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Verdict = Literal["slower", "faster", "equal", "cannot tell"]
Method = Literal["paired", "unpaired"]

ALPHA = 0.05
POWER = 0.8
FEWEST_PAIRS = 6
"""Below, no sign-flip p can be 5 % or less: with 5 pairs the smallest is 2/32."""
FEWEST_RUNS = 4
"""Fewest runs of each side where they are not paired: with 3 the smallest permutation p is 2/20, with 4 it is 2/70."""


@dataclass(frozen=True)
class Endpoint:
    """One quantity of which B is compared with A: a value per run, in any unit that both share.

    Values are positive (their logarithm is compared). Where ``paired``, ``a[i]`` and ``b[i]`` come from the same block.
    Raises ValueError for values that are not positive finite numbers, for sides of different lengths where paired, and
    for a side without any value.
    """

    name: str
    """The operation or the span; ``all`` for all requests."""
    statistic: str
    """``p50`` or ``p99``."""
    a: Sequence[float]
    b: Sequence[float]
    paired: bool = True

    def __post_init__(self) -> None:
        for side, values in (("A", self.a), ("B", self.b)):
            if not len(values):
                raise ValueError(f"{self}: {side} has no run")
            for value in values:
                if not (np.isfinite(value) and value > 0):
                    raise ValueError(f"{self}: {value!r} of {side} is not a positive number; leave such a run out")
        if self.paired and len(self.a) != len(self.b):
            raise ValueError(f"{self}: {len(self.a)} runs of A and {len(self.b)} of B are no pairs")

    def __str__(self) -> str:
        return f"{self.statistic} of {self.name}"


@dataclass(frozen=True)
class Effect:
    """How B stands to A on one endpoint, after all tests of its family were accounted for."""

    ratio: float
    """The ratio of the geometric means, B / A: above 1, B is slower."""
    low: float
    """The lower end of the ratio's interval at 1 - alpha, for this endpoint alone: it leaves out 1 exactly where ``p``
    is at most alpha. Where there are too few runs for any such p, by paired t or Welch; 0 for a single run."""
    high: float
    """Infinite for a single run."""
    p: float
    """The two-sided p of no difference: sign-flip where paired, permutation where not; exact or seeded Monte Carlo."""
    p_t: float
    """The same by paired t or Welch, to be shown beside; it decides nothing."""
    p_adjusted: float | None
    """``p`` after Holm over the family, which decides; None where there are too few runs to test."""
    p_equal: float | None
    """The p of a difference as large as the margin (the larger of two one-sided tests), after Holm; None likewise."""
    method: Method
    runs: int
    """Pairs; the runs of the smaller side where they are not paired."""
    sd: float
    """The standard deviation of the differences of logarithms within pairs, or of logarithms from run to run (pooled)
    where not paired. About the relative spread: 0.02 is 2 %. Not a number for a single run."""
    margin: float
    """What counts as practically equal: 0.02 is a ratio within 1/1.02 and 1.02."""
    verdict: Verdict
    needed: int | None
    """Where the verdict is ``cannot tell``: about how many more pairs (or runs of each side) would give a verdict with
    80 % power, if ratio and sd are what they seem; None where no reasonable number would, or where nothing is known of
    the sd."""


@dataclass(frozen=True)
class EndpointComparison:
    """An endpoint and its effect."""

    endpoint: Endpoint
    effect: Effect
