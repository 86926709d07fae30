"""Chosen spans in detail: single runs, the histograms of best-fit runs, distances over pairs of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from loadstone.analysis.distribution_rows import HistogramRow, LevelDistanceRow, RangeRow, RunCurveRow
from loadstone.analysis.percentiles import of_counted
from loadstone.analysis.reproduction import p_values
from loadstone.analysis.reproduction.fitting import Fitted, Scenario
from loadstone.analysis.reproduction.levels import Level
from loadstone.analysis.reproduction.reading import Group
from loadstone.analysis.statistics.effect import Floats
from loadstone.analysis.statistics.merging import AD, KS, Sample, all_pairs, distances

BINS = 60
"""Bins of a histogram, up to ``HIGHEST``."""
HIGHEST = 99.0
"""Percentile, of the treatment where it is greatest: a few slow requests would leave one bin for all others."""
_POINTS = 60
"""Points of a run's curve, evenly on an axis that gives every further nine the same room."""


def curves(group: Group, fitted: Sequence[Fitted], repetition: dict[str, int]) -> Iterator[RunCurveRow]:
    """Every run of the group, up to the percentile that the smallest of a treatment can show."""
    for each in fitted:
        smallest = min(sample.size for sample in each.scenario.samples)
        percents = 100 * (1 - 10 ** -np.linspace(0, np.log10(smallest), _POINTS))
        for index, (trial, sample) in enumerate(zip(each.scenario.runs, each.scenario.samples, strict=True)):
            latencies = of_counted(sample.values, sample.counts, percents)
            for percent, latency in zip(percents.tolist(), latencies.tolist(), strict=True):
                yield RunCurveRow(
                    **_place(group),
                    treatment=each.scenario.name,
                    baseline=each is fitted[0],
                    trial_id=trial,
                    repetition=repetition[trial],
                    best_fit=index == each.best,
                    percentile=percent,
                    latency_us=latency,
                )


def histograms(group: Group, fitted: Sequence[Fitted], repetition: dict[str, int]) -> Iterator[HistogramRow]:
    """The best-fit run of each treatment, all in the same bins."""
    low = min(float(each.sample.values[0]) for each in fitted)
    high = max(float(of_counted(each.sample.values, each.sample.counts, [HIGHEST])[0]) for each in fitted)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    for each in fitted:
        trial = each.scenario.runs[each.best]
        counts, _ = np.histogram(each.sample.values, edges, weights=each.sample.counts)
        for place, count in enumerate(counts.tolist()):
            yield HistogramRow(
                **_place(group),
                treatment=each.scenario.name,
                baseline=each is fitted[0],
                trial_id=trial,
                repetition=repetition[trial],
                low_us=float(edges[place]),
                high_us=float(edges[place + 1]),
                share=count / each.sample.size,
            )


def ranges(group: Group, fitted: Sequence[Fitted]) -> Iterator[RangeRow]:
    """By treatment the distances of all pairs of its runs; nothing of a single run."""
    for each in fitted:
        if each.pairs:
            found: dict[str, Any] = _spread("ad", each.pair_ad) | _spread("ks", each.pair_ks)
            yield RangeRow(
                **_place(group),
                treatment=each.scenario.name,
                baseline=each is fitted[0],
                pairs=len(each.pairs),
                **found,
            )


def by_level(group: Group, levels: Sequence[Level], baseline: str) -> Iterator[LevelDistanceRow]:
    """The runs at each level beside those at the level ``baseline``; at this level all pairs of its runs."""
    scenarios = {scenario.name: scenario for scenario in group.scenarios}
    here = [level for level in levels if level.treatment.label in scenarios]
    base = next((level for level in here if level.text == baseline), None)
    if base is None:
        return
    first = scenarios[base.treatment.label]
    for level in sorted(here, key=lambda level: level.amount):
        samples, pairs = _pairs(first, scenarios[level.treatment.label])
        if not pairs:
            continue
        found = distances(samples, pairs)
        spreads: dict[str, Any] = _spread("ad", found[:, AD]) | _spread("ks", found[:, KS])
        spreads |= _spread("ad_p", [p_values.anderson_darling(float(statistic)) for statistic in found[:, AD]])
        spreads |= _spread("ks_p", _ks_p(samples, pairs, found))
        yield LevelDistanceRow(
            **_place(group),
            treatment=level.treatment.label,
            beside=level.beside,
            factor=level.factor,
            level=level.text,
            amount=level.amount,
            unit=level.unit,
            baseline=level is base,
            pairs=len(pairs),
            **spreads,
        )


def _pairs(first: Scenario, second: Scenario) -> tuple[list[Sample], list[tuple[int, int]]]:
    if first is second:
        return list(first.samples), all_pairs(len(first.samples))
    count = len(first.samples)
    pairs = [(a, count + b) for a in range(count) for b in range(len(second.samples))]
    return [*first.samples, *second.samples], pairs


def _ks_p(samples: Sequence[Sample], pairs: Sequence[tuple[int, int]], found: Floats) -> list[float]:
    return [
        p_values.kolmogorov_smirnov(float(row[KS]), samples[a].size, samples[b].size)
        for (a, b), row in zip(pairs, found, strict=True)
    ]


def _place(group: Group) -> dict[str, Any]:
    return {"span": group.name, "rate": group.rate, "clients": group.clients}


def _spread(name: str, values: Any) -> dict[str, float]:
    some = np.asarray(values, float)
    return {f"{name}_min": float(some.min()), f"{name}_mean": float(some.mean()), f"{name}_max": float(some.max())}
