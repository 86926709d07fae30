"""The fifth study's tables of a run: best-fit runs with their percentiles, all runs, all pairs, whole distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from loadstone.analysis.percentiles import of_counted
from loadstone.analysis.reproduction.fitting import Fitted, fit
from loadstone.analysis.reproduction.reading import Group, read
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row, TreatmentSummary

PERCENTILES = (50, 75, 90, 95, 99, 100)
_POINTS = 60
"""Of a distribution, evenly on an axis that gives every further nine the same room."""


@dataclass(frozen=True)
class BestFits:
    """Tables by name, and what could not be read. ``reproduction`` has the published columns, in us."""

    tables: dict[str, pa.Table]
    warnings: list[str]


def best_fits(run: RunFolder, treatments: list[TreatmentSummary]) -> BestFits:
    """Reads every distribution of the run's fixed loads, and compares as the fifth study did."""
    samples = read(run, treatments)
    repetition = {row["trial_id"]: row["repetition"] for treatment in treatments for row in treatment.rows()}
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
    for group, fitted in zip(samples.groups, fit([group.scenarios for group in samples.groups]), strict=True):
        floor = _floor(fitted[0])
        for each in fitted:
            place = _place(group) | {"treatment": each.scenario.name}
            best = each.scenario.runs[each.best]
            rows["reproduction"].append(
                place
                | {"baseline": each is fitted[0], "best_fit": best, "repetition": repetition[best]}
                | {"runs": len(each.scenario.runs), "requests": each.sample.size}
                | _percentiles(each)
                | {"ad_statistic": each.ad, "ks_statistic": each.ks, "baseline_ad_q95": floor}
            )
            rows["reproduction_runs"] += [place | row for row in _runs(each)]
            rows["reproduction_pairs"] += [place | row for row in _pairs(each)]
            rows["reproduction_percentiles"] += [place | row for row in _distribution(each)]
    tables = {name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in SCHEMAS.items()}
    return BestFits(tables, samples.warnings)


def _place(group: Group) -> Row:
    return {"span": group.name, "kind": group.kind, "rate": group.rate, "clients": group.clients}


def _floor(baseline: Fitted) -> float | None:
    """What 95 % of the baseline's own pairs of runs do not exceed: one run of it from another run of it."""
    return float(np.quantile(baseline.pair_ad, 0.95)) if baseline.pair_ad else None


def _percentiles(fit: Fitted) -> Row:
    found = of_counted(fit.sample.values, fit.sample.counts, PERCENTILES)
    return {f"p{percentile}_us": float(value) for percentile, value in zip(PERCENTILES, found, strict=True)}


def _runs(fit: Fitted) -> Iterator[Row]:
    for index, (trial, summed) in enumerate(zip(fit.scenario.runs, fit.summed_ad, strict=True)):
        yield {"trial_id": trial, "summed_ad": summed, "best_fit": index == fit.best}


def _pairs(fit: Fitted) -> Iterator[Row]:
    for (a, b), ad, ks in zip(fit.pairs, fit.pair_ad, fit.pair_ks, strict=True):
        runs = fit.scenario.runs
        yield {"trial_a": runs[a], "trial_b": runs[b], "ad_statistic": ad, "ks_statistic": ks}


def _distribution(fit: Fitted) -> Iterator[Row]:
    """The best-fit run's, and the range of all runs, up to the percentile that the smallest run can show."""
    smallest = min(sample.size for sample in fit.scenario.samples)
    percents = 100 * (1 - 10 ** -np.linspace(0, np.log10(smallest), _POINTS))
    every = np.array([of_counted(sample.values, sample.counts, percents) for sample in fit.scenario.samples])
    for place, percent in enumerate(percents):
        yield {
            "percentile": float(percent),
            "latency_us": float(every[fit.best, place]),
            "lowest_us": float(every[:, place].min()),
            "highest_us": float(every[:, place].max()),
        }


_PLACE: list[tuple[str, pa.DataType]] = [
    ("span", pa.string()),
    ("kind", pa.string()),
    ("rate", pa.float64()),
    ("clients", pa.int64()),
    ("treatment", pa.string()),
]
SCHEMAS = {
    "reproduction": pa.schema(
        [
            *_PLACE,
            ("baseline", pa.bool_()),
            ("best_fit", pa.string()),
            *((name, pa.int64()) for name in ("repetition", "runs", "requests")),
            *((f"p{percentile}_us", pa.float64()) for percentile in PERCENTILES),
            *((name, pa.float64()) for name in ("ad_statistic", "ks_statistic", "baseline_ad_q95")),
        ]
    ),
    "reproduction_runs": pa.schema(
        [*_PLACE, ("trial_id", pa.string()), ("summed_ad", pa.float64()), ("best_fit", pa.bool_())]
    ),
    "reproduction_pairs": pa.schema(
        [
            *_PLACE,
            *((name, pa.string()) for name in ("trial_a", "trial_b")),
            *((name, pa.float64()) for name in ("ad_statistic", "ks_statistic")),
        ]
    ),
    "reproduction_percentiles": pa.schema(
        [*_PLACE, *((name, pa.float64()) for name in ("percentile", "latency_us", "lowest_us", "highest_us"))]
    ),
}
"""By table. ``span`` is ``service operation``, an operation, or ``all requests``; latencies are in us."""
