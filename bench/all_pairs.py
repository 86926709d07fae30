"""The time of the published reproduction's all-pairs distances, beside SciPy's."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import stats

from bench.common import Row, median_row
from loadstone.analysis.statistics.merging import all_pairs, distances, sample

SCENARIOS, SPANS, RUNS, REQUESTS = 4, 9, 10, 10_000
ROUNDS = 5
PART = 30
"""SciPy does every 30th pair, in each round others, and its time is multiplied."""


def all_pairs_rows() -> list[Row]:
    """From unsorted latencies to the distances of all pairs within each scenario and span, alternately with SciPy."""
    rng = np.random.default_rng(8)
    groups = rng.lognormal(0, 0.5, (SCENARIOS * SPANS, RUNS, REQUESTS))
    pairs = [(group * RUNS + i, group * RUNS + j) for group in range(len(groups)) for i, j in all_pairs(RUNS)]
    runs = groups.reshape(-1, REQUESTS)
    distances([sample(runs[0]), sample(runs[1])], [(0, 1)])  # compiles where the cache is empty
    ours, theirs = [], []
    for turn in range(ROUNDS):
        ours.append(timed(lambda: distances([sample(run) for run in runs], pairs)))
        some = pairs[turn::PART]
        times = timed(functools.partial(scipy, runs, some))
        theirs.append([spent * len(pairs) / len(some) for spent in times])
    name = f"all pairs, {SCENARIOS} scenarios x {SPANS} spans x {RUNS} runs x {REQUESTS:,}: KS, AD, CvM and Wasserstein"
    rows = []
    metrics = (name, "... CPU, of all processors together")
    for metric, own, other in zip(metrics, np.transpose(ours), np.transpose(theirs), strict=True):
        row, peer = median_row(metric, "s", own.tolist()), float(np.median(other))
        rows.append(replace(row, peer="SciPy, KS and AD", peer_value=peer, ratio=row.value / peer))
    rows[0] = replace(rows[0], target="<= 1 s", holds=rows[0].value <= 1)
    return rows


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of CPU."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def scipy(runs: np.ndarray, pairs: list[tuple[int, int]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about p-values that are capped
        for a, b in pairs:
            stats.ks_2samp(runs[a], runs[b], method="asymp")
            stats.anderson_ksamp([runs[a], runs[b]])
