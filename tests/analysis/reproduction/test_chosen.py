"""Chosen spans: single runs, histograms, and distances between runs by treatment and by level of a numeric factor."""

from __future__ import annotations

import json
import warnings
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from loadstone.analysis import summary
from loadstone.analysis.reproduction import best_fits, p_values
from loadstone.analysis.reproduction.levels import amount, numeric
from loadstone.analysis.reproduction.tables import BestFits
from loadstone.analysis.run import open_run
from loadstone.analysis.summary import TreatmentSummary
from tests.distributions import write_spans
from tests.synthetic import Synthetic

DELAYS = {"0us": 0, "50us": 50, "0.2ms": 200}
SPAN = "payment POST /payment"


def durations(delay: int, run: int) -> np.ndarray:
    """us, in whole ones."""
    random = np.random.default_rng(1000 * delay + run)
    return np.round(1000 + delay + random.normal(0, 60, 300))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three delays, three runs of each."""
    made = Synthetic(
        name="accuracy",
        factor="tasks",
        capacities=dict.fromkeys(DELAYS, 2000.0),
        levels={name: {"payment": {"sleep": name}} for name in DELAYS},
        rates=[20],
        repetitions=3,
        duration_s=1,
    )
    folder = made.write(tmp_path_factory.mktemp("results"))
    for place in (folder / "trials").iterdir():
        row = json.loads((place / "trial.json").read_text())["row"]
        found = amount(row["factor_tasks"])
        assert found is not None and found[1] == "us"
        values = durations(round(found[0]), row["repetition"])
        write_spans(place / "spans.parquet", {("payment", "POST /payment"): values})
    return folder


def chosen(folder: Path, *spans: str) -> BestFits:
    plan = json.loads((folder / "plan.json").read_text())
    plan["study"]["report"] = {"spans": list(spans)} if spans else None
    (folder / "plan.json").write_text(json.dumps(plan))
    run = open_run(folder)
    return best_fits(run, summary.treatments(run))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chosen(folder, SPAN).chosen.tables[name].to_pylist()
    return found


def test_distances_by_delay_are_those_of_all_pairs_with_the_baseline(folder: Path) -> None:
    levels = rows(folder, "distribution_levels")
    assert [(row["amount"], row["unit"], row["baseline"], row["pairs"]) for row in levels] == [
        (0.0, "us", True, 3),
        (50.0, "us", False, 9),
        (200.0, "us", False, 9),
    ]
    base = [durations(0, run) for run in (1, 2, 3)]
    for row in levels:
        other = [durations(round(row["amount"]), run) for run in (1, 2, 3)]
        pairs = combinations(base, 2) if row["baseline"] else product(base, other)
        found = [scipys(a, b) for a, b in pairs]
        for column, values in zip(("ad", "ad_p", "ks", "ks_p"), zip(*found, strict=True), strict=True):
            wanted = [min(values), float(np.mean(values)), max(values)]
            assert [row[f"{column}_{end}"] for end in ("min", "mean", "max")] == pytest.approx(wanted, rel=1e-6)
    assert levels[0]["ad_p_max"] > 0.01 > levels[2]["ad_p_max"] == p_values.SMALLEST


def scipys(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its p-value is capped
        ad = stats.anderson_ksamp([a, b])
    ks = stats.ks_2samp(a, b, method="asymp")
    return float(ad.statistic), float(ad.pvalue), float(ks.statistic), float(ks.pvalue)


def test_ranges_are_those_of_the_pairs_of_a_treatment(folder: Path) -> None:
    every = chosen(folder, SPAN)
    for row in every.chosen.ranges:
        pairs = [pair for pair in every.pairs if (pair.span, pair.treatment) == (row.span, row.treatment)]
        values = [pair.ad_statistic for pair in pairs]
        assert (row.pairs, row.ad_min, row.ad_max) == (3, min(values), max(values))
        assert row.ks_mean == pytest.approx(np.mean([pair.ks_statistic for pair in pairs]))


def test_each_run_has_a_curve_and_the_best_fit_run_a_histogram(folder: Path) -> None:
    curves, bins = rows(folder, "distribution_runs"), rows(folder, "distribution_histograms")
    assert len({row["trial_id"] for row in curves}) == 9
    best = {row["trial_id"] for row in curves if row["best_fit"]}
    assert {row["trial_id"] for row in bins} == best and len(best) == 3
    edges = {(row["low_us"], row["high_us"]) for row in bins}
    assert len(edges) == 60, "all in the same bins"
    for trial in best:
        mine = [row for row in bins if row["trial_id"] == trial]
        assert 0.98 <= sum(row["share"] for row in mine) <= 1
        lowest = next(row for row in curves if row["trial_id"] == trial and row["percentile"] == 0)
        assert lowest["latency_us"] >= mine[0]["low_us"]


def test_spans_stand_in_the_order_of_the_study(folder: Path) -> None:
    for spans in ((SPAN, "entry GET /"), ("entry GET /", SPAN)):
        found = chosen(folder, *spans).chosen
        assert tuple(dict.fromkeys(row.span for row in found.curves)) == spans
        assert tuple(dict.fromkeys(row.span for row in found.levels)) == spans


def test_without_a_choice_it_is_all_requests_and_an_unknown_name_is_reported(folder: Path) -> None:
    assert {row.span for row in chosen(folder).chosen.curves} <= {"all requests"}
    found = chosen(folder, SPAN, "payment POST /nothing").chosen
    assert (found.spans, found.unknown) == ([SPAN], ["payment POST /nothing"])


@pytest.mark.parametrize(
    ("level", "found"),
    [
        ("50us", (50.0, "us")),
        ("payment:sleep=0.05ms", (50.0, "us")),
        ("0s", (0.0, "us")),
        ("400", (400.0, "")),
        ("2%", (2.0, "%")),
        ("none", None),
        ("payment:linpack=0,sleep=50us", None),
        ("FLC-D", None),
    ],
)
def test_an_amount_is_a_single_number_with_its_unit(level: str, found: tuple[float, str] | None) -> None:
    assert amount(level) == (found if found is None else (pytest.approx(found[0]), found[1]))


def test_levels_in_bytes_have_one_unit_of_their_factor() -> None:
    names = ["1MiB", "512KiB", "64KiB", "1GiB"]
    treatments = [TreatmentSummary(name, name, {"x": name}, (), None, None, (), ()) for name in names]
    (levels,) = numeric(treatments)
    assert [(level.text, level.amount, level.unit) for level in sorted(levels, key=lambda level: level.amount)] == [
        ("64KiB", 64.0, "KiB"),
        ("512KiB", 512.0, "KiB"),
        ("1MiB", 1024.0, "KiB"),
        ("1GiB", 2.0**20, "KiB"),
    ]
