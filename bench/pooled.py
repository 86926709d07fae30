"""What tests over pooled requests, and over best-fit runs, make of studies whose truth is known."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest, kstwobign

from bench.common import Row
from bench.simulated_runs import SimulatedKind, requests
from loadstone.analysis.statistics.merging import AD, KS, Sample, all_pairs, distances, pool, sample

AD_AT_5_PERCENT = 1.961
"""The critical value of the standardised two-sample statistic (Scholz and Stephens, 1987, table 1)."""
CONDITIONS = (
    ("false alarms, sd 0.5 %", 0.005, 0.0),
    ("false alarms, sd 2 %", 0.02, 0.0),
    ("power, 2 % shift, sd 2 %", 0.02, 0.02),
)
METHODS = (
    "KS p of pooled requests",
    "AD p of pooled requests",
    "AD p, best-fit run against best-fit run",
    "AD of the best-fit runs against the q95 of the baseline's pairs",
)


def pooled_rows(runs: int, studies: int) -> list[Row]:
    """One row a method: where nothing differs, and for the one that keeps its level, where B is 2 % slower."""
    rows = []
    for what, sd, shift in CONDITIONS:
        rng = np.random.default_rng([7, runs, int(sd * 1e4), int(shift * 1e4)])
        kind = SimulatedKind(runs, sd, shift=shift)
        hits = np.sum([alarms(*requests(kind, rng)) for _ in range(studies)], axis=0)
        for method, count in zip(METHODS, hits, strict=True):
            if shift and method != METHODS[-1]:
                continue  # a test that alarms without a difference has no power to speak of
            sure = binomtest(int(count), studies).proportion_ci(method="exact")
            at = f"{what}: {method}, {runs} + {runs} runs"
            rows.append(Row(at, "%", 100 * count / studies, 100 * sure.low, 100 * sure.high))
    return rows


def alarms(a: np.ndarray, b: np.ndarray) -> list[bool]:
    """The verdicts of each method on one study; ``a`` and ``b`` hold a row of latencies a run."""
    of_a, of_b = [sample(run) for run in a], [sample(run) for run in b]
    ks, ad = distances([pool(of_a), pool(of_b)], [(0, 1)])[0, [KS, AD]]
    scale = np.sqrt(a.size * b.size / (a.size + b.size))
    (best_a, baseline), (best_b, _) = best_fit(of_a), best_fit(of_b)
    between = distances([of_a[best_a], of_b[best_b]], [(0, 1)])[0, AD]
    return [
        kstwobign.sf(scale * ks) < 0.05,
        ad > AD_AT_5_PERCENT,
        between > AD_AT_5_PERCENT,
        between > np.quantile(baseline, 0.95),
    ]


def best_fit(runs: list[Sample]) -> tuple[int, np.ndarray]:
    """The run with the smallest sum of AD to all others, and the AD of all pairs."""
    pairs = all_pairs(len(runs))
    found = distances(runs, pairs)[:, AD]
    sums = np.zeros(len(runs))
    for (first, other), value in zip(pairs, found, strict=True):
        sums[[first, other]] += value
    return int(np.argmin(sums)), found
