"""The fifth study's tables of a run: which trials are runs, what they are compared with, what the rows say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from loadstone.analysis import summary
from loadstone.analysis.reproduction import BestFits, best_fits
from loadstone.analysis.run import open_run
from tests.distributions import write_hlog, write_spans
from tests.synthetic import Synthetic

SHIFTS = {"bare": (0, 300, 900), "container": (2000, 1700, 1500)}
"""us by run: of both, the second run lies between the others."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two environments, three runs of each; every run has the same latencies, moved by its shift."""
    capacities = dict.fromkeys(SHIFTS, 2000.0)
    made = Synthetic(name="vinken", factor="environment", capacities=capacities, rates=[200], repetitions=3)
    folder = made.write(tmp_path)
    for place in (folder / "trials").iterdir():
        values = latencies(json.loads((place / "trial.json").read_text())["row"])
        write_hlog(place / "latency.hlog", {"intended": values, "intended:hotels": values[::2], "service": values})
    return folder


def latencies(row: dict[str, Any]) -> np.ndarray:
    base = np.random.default_rng(7).lognormal(8, 0.3, 400)
    return base + SHIFTS[row["factor_environment"]][row["repetition"] - 1]


def tables(folder: Path) -> BestFits:
    run = open_run(folder)
    return best_fits(run, summary.treatments(run))


def rows(folder: Path, name: str = "reproduction", **equal: Any) -> list[dict[str, Any]]:
    every = tables(folder).tables[name].to_pylist()
    return [row for row in every if all(row[key] == value for key, value in equal.items())]


def edit(folder: Path, change: Any) -> None:
    """Change rows of the trials, wherever they stand."""
    for file in folder.glob("trials/*/trial.json"):
        content = json.loads(file.read_text())
        change(content["row"])
        file.write_text(json.dumps(content))
    (folder / "trials.parquet").unlink()


def test_the_run_between_the_others_stands_for_its_treatment(run: Path) -> None:
    bare, container = rows(run, span="all requests")
    assert [(row["treatment"], row["repetition"], row["runs"], row["requests"]) for row in (bare, container)] == [
        ("environment=bare", 2, 3, 400),
        ("environment=container", 2, 3, 400),
    ]
    assert [row["baseline"] for row in (bare, container)] == [True, False]
    x, y = (latencies({"factor_environment": name, "repetition": 2}) for name in SHIFTS)
    assert container["ks_statistic"] == pytest.approx(stats.ks_2samp(x, y).statistic, abs=0.005)
    assert container["p50_us"] == pytest.approx(np.median(y), rel=0.01)
    assert container["p100_us"] == pytest.approx(y.max(), rel=0.001)
    assert bare["ad_statistic"] == pytest.approx(-1.3, abs=0.05)


def test_operations_follow_all_requests_and_the_service_time_is_not_theirs(run: Path) -> None:
    assert [(row["span"], row["kind"]) for row in rows(run, baseline=True)] == [
        ("all requests", "requests"),
        ("hotels", "operation"),
    ]


def test_all_pairs_and_sums_are_there(run: Path) -> None:
    pairs = rows(run, "reproduction_pairs", span="all requests", treatment="environment=bare")
    runs = rows(run, "reproduction_runs", span="all requests", treatment="environment=bare")
    assert len(pairs) == 3
    for item in runs:
        mine = [pair["ad_statistic"] for pair in pairs if item["trial_id"] in (pair["trial_a"], pair["trial_b"])]
        assert item["summed_ad"] == pytest.approx(sum(mine))
    assert [item["best_fit"] for item in runs] == [False, True, False]
    floor = rows(run, span="all requests")[0]["baseline_ad_q95"]
    assert floor == pytest.approx(np.quantile([pair["ad_statistic"] for pair in pairs], 0.95))


def test_a_distribution_rises_between_its_lowest_and_highest_run(run: Path) -> None:
    points = rows(run, "reproduction_percentiles", span="all requests", treatment="environment=container")
    latency = [point["latency_us"] for point in points]
    assert latency == sorted(latency)
    assert all(point["lowest_us"] <= point["latency_us"] <= point["highest_us"] for point in points)
    assert points[-1]["percentile"] == pytest.approx(100 * (1 - 1 / 400))


def test_only_whole_valid_runs_of_fixed_loads_count(run: Path) -> None:
    def change(row: dict[str, Any]) -> None:
        if row["factor_environment"] == "container":
            key, value = {1: ("verdict", "invalid"), 2: ("aborted_at_s", 1.0), 3: ("phase", "fixed")}[row["repetition"]]
            row[key] = value

    edit(run, change)
    (container,) = rows(run, span="all requests", baseline=False)
    assert (container["repetition"], container["runs"]) == (3, 1)


def test_a_search_has_no_runs_to_compare(run: Path) -> None:
    edit(run, lambda row: row.update(phase="fine"))
    assert rows(run) == []


def test_the_baseline_is_the_one_of_the_comparison(run: Path) -> None:
    plan = json.loads((run / "plan.json").read_text())
    plan["study"]["comparison"] = {"baseline": {"environment": "container"}}
    (run / "plan.json").write_text(json.dumps(plan))
    assert [row["treatment"] for row in rows(run, span="hotels")] == ["environment=container", "environment=bare"]


def test_a_damaged_log_is_a_warning_and_the_rest_is_compared(run: Path) -> None:
    place = next(iter(sorted((run / "trials").iterdir())))
    (place / "latency.hlog").write_text("Tag=intended,1,1,1,!!!\n")
    found = tables(run)
    assert [text.split(": cannot be read")[0] for text in found.warnings] == [f"trials/{place.name}/latency.hlog"]
    assert sorted(row["runs"] for row in rows(run, span="all requests")) == [2, 3]


def test_spans_are_those_of_servers_in_the_window(run: Path) -> None:
    for place in (run / "trials").iterdir():
        values = latencies(json.loads((place / "trial.json").read_text())["row"])
        write_spans(place / "spans.parquet", {("order", "run"): values[:40], ("user", "few"): values[:5]})
    spans = rows(run, kind="span", baseline=False)
    assert [(row["span"], row["requests"], row["repetition"]) for row in spans] == [
        ("entry GET /", 40, 1),
        ("order run", 40, 2),
    ]
    assert spans[1]["p100_us"] == pytest.approx(
        latencies({"factor_environment": "container", "repetition": 2})[:40].max()
    )
    window = {"from_ns": 10**18, "to_ns": 10**18 + 20_000_000}
    for place in (run / "trials").iterdir():
        (place / "observed.json").write_text(json.dumps({"window": window, "nodes": {}, "replicas": {}}))
    assert {row["requests"] for row in rows(run, kind="span")} == {20}
