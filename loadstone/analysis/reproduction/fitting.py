"""Best-fit runs and how far they are from the baseline's; pure, over samples in any unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from loadstone.analysis.statistics.merging import AD, KS, Sample, all_pairs, distances


@dataclass(frozen=True)
class Scenario:
    """The runs of one treatment: of a span, or of all requests, at one load."""

    name: str
    runs: tuple[str, ...]
    """The trials."""
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Fitted:
    """A scenario with the run that stands for it."""

    scenario: Scenario
    pairs: tuple[tuple[int, int], ...]
    """Every two runs, with their statistics."""
    pair_ad: tuple[float, ...]
    pair_ks: tuple[float, ...]
    summed_ad: tuple[float, ...]
    """The sum of each run's Anderson-Darling statistics to all others."""
    best: int
    """The run with the smallest sum; of equal ones the first."""
    ad: float = 0.0
    """The Anderson-Darling statistic between the best-fit run and the baseline's."""
    ks: float = 0.0

    @property
    def sample(self) -> Sample:
        """The best-fit run's."""
        return self.scenario.samples[self.best]


def fit(groups: Sequence[Sequence[Scenario]]) -> list[list[Fitted]]:
    """The best-fit runs of each group's scenarios, compared with those of its first one, the baseline.

    AD is standardised as SciPy's ``anderson_ksamp`` does; of a run with itself it is about -1.3, and KS is 0. All
    groups go in one call, as all pairs are then spread over the processors at once.
    """
    scenarios = [scenario for group in groups for scenario in group]
    if not scenarios:
        return []
    fitted = _best(scenarios)
    ends = list(pairwise(np.cumsum([0, *map(len, groups)]).tolist()))
    beside = [(first, each) for first, end in ends for each in range(first, end)]
    found = distances([each.sample for each in fitted], beside)
    compared = [replace(each, ad=float(row[AD]), ks=float(row[KS])) for each, row in zip(fitted, found, strict=True)]
    return [compared[first:end] for first, end in ends]


def _best(scenarios: Sequence[Scenario]) -> list[Fitted]:
    samples = [sample for scenario in scenarios for sample in scenario.samples]
    own = [tuple(all_pairs(len(scenario.samples))) for scenario in scenarios]
    starts = np.cumsum([0, *(len(scenario.samples) for scenario in scenarios)])
    every = [(int(start) + a, int(start) + b) for start, pairs in zip(starts, own, strict=False) for a, b in pairs]
    found = distances(samples, every)
    fitted, at = [], 0
    for scenario, pairs in zip(scenarios, own, strict=True):
        rows = found[at : at + len(pairs)]
        at += len(pairs)
        sums = np.zeros(len(scenario.samples))
        for (a, b), statistic in zip(pairs, rows[:, AD], strict=True):
            sums[a] += statistic
            sums[b] += statistic
        ad, ks = tuple(map(float, rows[:, AD])), tuple(map(float, rows[:, KS]))
        fitted.append(Fitted(scenario, pairs, ad, ks, tuple(map(float, sums)), int(np.argmin(sums))))
    return fitted
