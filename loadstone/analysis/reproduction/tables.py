"""The fifth study's tables of a run: best-fit runs with their percentiles, all runs, all pairs, whole distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from loadstone.analysis import schema
from loadstone.analysis.distribution_rows import HistogramRow, LevelDistanceRow, RangeRow, RunCurveRow
from loadstone.analysis.percentiles import of_counted
from loadstone.analysis.reproduction import chosen
from loadstone.analysis.reproduction.fitting import Fitted, fit
from loadstone.analysis.reproduction.levels import Level, numeric
from loadstone.analysis.reproduction.reading import REQUESTS, Group, baseline, read
from loadstone.analysis.reproduction_rows import BestFitPercentileRow, BestFitRow, PairRow, SummedRun
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import TreatmentSummary

PERCENTILES = (50, 75, 90, 95, 99, 100)
_POINTS = 60
"""Points of a distribution, evenly on an axis that gives every further nine the same room."""


@dataclass(frozen=True)
class ChosenSpans:
    """What is known of the spans that a study's ``report`` names, and the names that no span of the run has."""

    curves: list[RunCurveRow] = field(default_factory=list)
    histograms: list[HistogramRow] = field(default_factory=list)
    ranges: list[RangeRow] = field(default_factory=list)
    levels: list[LevelDistanceRow] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    spans: list[str] = field(default_factory=list)
    """Those that the run has."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All of it, by name."""
        return schema.tables(
            (RunCurveRow, self.curves),
            (HistogramRow, self.histograms),
            (RangeRow, self.ranges),
            (LevelDistanceRow, self.levels),
        )

    def add(self, group: Group, fitted: Sequence[Fitted], repetition: dict[str, int]) -> None:
        """The treatments of one span at one load."""
        self.curves.extend(chosen.curves(group, fitted, repetition))
        self.histograms.extend(chosen.histograms(group, fitted, repetition))
        self.ranges.extend(chosen.ranges(group, fitted))


@dataclass(frozen=True)
class BestFits:
    """Best-fit runs with their percentiles, all runs, all pairs, whole distributions, and what could not be read."""

    fits: list[BestFitRow]
    runs: list[SummedRun]
    pairs: list[PairRow]
    percentiles: list[BestFitPercentileRow]
    warnings: list[str]
    chosen: ChosenSpans

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All of it, by name."""
        return schema.tables(
            (BestFitRow, self.fits),
            (SummedRun, self.runs),
            (PairRow, self.pairs),
            (BestFitPercentileRow, self.percentiles),
        )


def best_fits(run: RunFolder, treatments: list[TreatmentSummary]) -> BestFits:
    """Reads every distribution of the run's fixed loads, and compares as the fifth study did."""
    samples = read(run, treatments)
    repetition = {row.trial_id: row.repetition for treatment in treatments for row in treatment.trials}
    wanted = run.study.report.spans or (REQUESTS,)
    known = list(dict.fromkeys(group.name for group in samples.groups))
    details = ChosenSpans(unknown=[name for name in wanted if name not in known])
    details.spans.extend(name for name in wanted if name in known)
    found = BestFits([], [], [], [], samples.warnings, details)
    varied = numeric(treatments)
    for group, fitted in zip(samples.groups, fit([group.scenarios for group in samples.groups]), strict=True):
        floor = _floor(fitted[0])
        for each in fitted:
            place: dict[str, Any] = {"span": group.name, "kind": group.kind, "rate": group.rate}
            place |= {"clients": group.clients, "treatment": each.scenario.name}
            best = each.scenario.runs[each.best]
            row = BestFitRow(
                **place,
                baseline=each is fitted[0],
                best_fit=best,
                repetition=repetition[best],
                runs=len(each.scenario.runs),
                requests=each.sample.size,
                **_percentiles(each),
                ad_statistic=each.ad,
                ks_statistic=each.ks,
                baseline_ad_q95=floor,
            )
            found.fits.append(row)
            found.runs.extend(_runs(place, each))
            found.pairs.extend(_pairs(place, each))
            found.percentiles.extend(_distribution(place, each))
        if group.name in details.spans:
            details.add(group, fitted, repetition)
            for levels in varied:
                details.levels.extend(chosen.by_level(group, levels, _first_level(run, treatments, levels)))
    for rows in (details.curves, details.histograms, details.ranges, details.levels):
        rows.sort(key=lambda row: details.spans.index(row.span))
    return found


def _first_level(run: RunFolder, treatments: list[TreatmentSummary], levels: Sequence[Level]) -> str:
    """The baseline's level of the factor; where none of these treatments has it, the lowest."""
    own = baseline(run, treatments).levels.get(levels[0].factor)
    lowest = min(levels, key=lambda level: level.amount).text
    return own if own is not None and own in {level.text for level in levels} else lowest


def _floor(baseline: Fitted) -> float | None:
    """What 95 % of the baseline's own pairs of runs do not exceed: one run of it from another run of it."""
    return float(np.quantile(baseline.pair_ad, 0.95)) if baseline.pair_ad else None


def _percentiles(fit: Fitted) -> dict[str, Any]:
    found = of_counted(fit.sample.values, fit.sample.counts, PERCENTILES)
    return {f"p{percentile}_us": float(value) for percentile, value in zip(PERCENTILES, found, strict=True)}


def _runs(place: dict[str, Any], fit: Fitted) -> Iterator[SummedRun]:
    for index, (trial, summed) in enumerate(zip(fit.scenario.runs, fit.summed_ad, strict=True)):
        yield SummedRun(**place, trial_id=trial, summed_ad=summed, best_fit=index == fit.best)


def _pairs(place: dict[str, Any], fit: Fitted) -> Iterator[PairRow]:
    runs = fit.scenario.runs
    for (a, b), ad, ks in zip(fit.pairs, fit.pair_ad, fit.pair_ks, strict=True):
        yield PairRow(**place, trial_a=runs[a], trial_b=runs[b], ad_statistic=ad, ks_statistic=ks)


def _distribution(place: dict[str, Any], fit: Fitted) -> Iterator[BestFitPercentileRow]:
    """The best-fit run's, and the range of all runs, up to the percentile that the smallest run can show."""
    smallest = min(sample.size for sample in fit.scenario.samples)
    percents = 100 * (1 - 10 ** -np.linspace(0, np.log10(smallest), _POINTS))
    every = np.array([of_counted(sample.values, sample.counts, percents) for sample in fit.scenario.samples])
    for index, percent in enumerate(percents):
        yield BestFitPercentileRow(
            **place,
            percentile=float(percent),
            latency_us=float(every[fit.best, index]),
            lowest_us=float(every[:, index].min()),
            highest_us=float(every[:, index].max()),
        )
