"""The noise floor: A compared with itself, and the smallest difference that this set-up could have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from loadstone.analysis.statistics.comparing import compare
from loadstone.analysis.statistics.effect import ALPHA, Endpoint, EndpointComparison
from loadstone.analysis.statistics.planning import detectable


@dataclass(frozen=True)
class Floor:
    """The noise floor of an endpoint: the baseline against itself."""

    comparison: EndpointComparison
    """B is A again: a verdict of slower or faster is a false alarm, or something changes during the run."""
    sd: float
    """The standard deviation of the differences of logarithms within pairs."""
    sd_low: float
    """The lower end of the 95 % interval of ``sd``: wide for few pairs."""
    sd_high: float
    detects: float
    """The slowdown that ``pairs`` pairs find with 80 % power: 0.02 is 2 %."""
    detects_low: float
    """The lower end of the interval that the interval of ``sd`` implies."""
    detects_high: float
    pairs: int


def floors(endpoints: Sequence[Endpoint], margin: float, pairs: int, alpha: float = ALPHA) -> list[Floor]:
    """The floor of each paired endpoint of A against A, for a comparison of ``pairs`` pairs that tests as many."""
    share = alpha / max(1, len(endpoints))
    return [_floor(compared, pairs, share) for compared in compare(endpoints, margin, alpha)]


def adjacent(name: str, statistic: str, values: Sequence[float]) -> Endpoint | None:
    """A against A from A's own runs, in the order in which they ran, where none was run twice on purpose.

    Neighbours are paired and every second pair is turned around, so that a steady drift cancels; the last of an odd
    number is left out. None for fewer than four runs.
    """
    if len(values) < 4:
        return None
    pairs = [(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
    turned = [pair if place % 2 == 0 else pair[::-1] for place, pair in enumerate(pairs)]
    return Endpoint(name, statistic, [first for first, _ in turned], [second for _, second in turned])


def _floor(compared: EndpointComparison, pairs: int, share: float) -> Floor:
    sd, freedom = compared.effect.sd, compared.effect.runs - 1
    low, high = sd, float("inf")
    if freedom > 0:
        low, high = (sd * float(np.sqrt(freedom / chdtri(freedom, tail))) for tail in (0.025, 0.975))
    seen, least, most = (detectable(spread, pairs, share) if spread < np.inf else np.inf for spread in (sd, low, high))
    return Floor(compared, sd, low, high, seen, least, most, pairs)
