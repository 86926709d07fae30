"""A run beside published values: which treatment has whose settings, what it came to, and why there is nothing."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from loadstone.analysis import summary
from loadstone.analysis.metrics import gather, minutes
from loadstone.analysis.metrics.minutes import MinuteRow
from loadstone.analysis.published import beside, quantities
from loadstone.analysis.reproduction_rows import BestFitRow
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import rows
from loadstone.model.papers import Published
from tests.observed import observe
from tests.synthetic import Synthetic

Row = dict[str, Any]


NOT_MEASURED = "not measured there: its trials are invalid, were stopped early, or did not observe it"


def published(**given: Any) -> Published:
    """P99 of 10 ms at 300 req/s under no setting, but for what is given."""
    usual: Row = {"source": "", "quantity": "P99", "unit": "ms", "measure": "p99", "why": "", "at": 300.0}
    usual |= {"span": None, "node_of": None}
    return Published(**(usual | {"levels": {}, "value": 10.0, "low": None, "high": None} | given))


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two scalings at 300 and 900 req/s, three repetitions, the second trial invalid."""
    capacities = {"baseline": 700.0, "vertical": 1500.0}
    made = Synthetic(name="rated", capacities=capacities, rates=[300, 900], repetitions=3, invalid=(2,))
    return made.write(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Synthetic(name="searched", duration_s=2.0).write(tmp_path_factory.mktemp("results"))


def fitted(**given: Any) -> BestFitRow:
    """A best-fit run with these columns."""
    at: Row = {"span": "", "kind": "span", "rate": 300.0, "clients": None, "treatment": "", "baseline": False}
    at |= {"best_fit": "t", "repetition": 1, "runs": 1, "requests": 1, "baseline_ad_q95": None}
    at |= dict.fromkeys(("ad_statistic", "ks_statistic", *(f"p{p}_us" for p in (50, 75, 90, 95, 99, 100))), 0.0)
    return BestFitRow(**(at | given))


def laid(folder: Path, *values: Published, fits: list[Row] | None = None) -> list[Row]:
    run = open_run(folder)
    best = [fitted(**fit) for fit in fits or []]
    return [asdict(row) for row in beside(run, summary.treatments(run), values, best)]


def trials(folder: Path, scaling: str, rate: float) -> list[Row]:
    rows: list[Row] = open_run(folder).table.to_pylist()
    here = [row for row in rows if row["factor_scaling"] == scaling and row["rate"] == rate]
    return [row for row in here if row["verdict"] != "invalid" and row["aborted_at_s"] is None]


def test_a_latency_is_the_geometric_mean_of_the_trials_at_the_load_with_its_interval(rated: Path) -> None:
    (row,) = laid(rated, published(levels={"scaling": "vertical"}))
    logs = np.log([trial["p99_ms"] for trial in trials(rated, "vertical", 300)])
    low, high = stats.t.interval(0.95, len(logs) - 1, logs.mean(), stats.sem(logs))
    assert (row["treatment"], row["trials"], row["why"]) == ("scaling=vertical", 3, "")
    assert [row["value"], row["low"], row["high"]] == pytest.approx([math.exp(x) for x in (logs.mean(), low, high)])
    assert [row["ratio"], row["ratio_low"], row["ratio_high"]] == pytest.approx(
        [row["value"] / 10, row["low"] / 10, row["high"] / 10]
    )


def test_invalid_trials_count_for_nothing(rated: Path) -> None:
    rows = laid(rated, published(at=900.0), published(at=300.0))
    assert [row["trials"] for row in rows] == [
        len(trials(rated, s, r)) for r in (900, 300) for s in ("baseline", "vertical")
    ]


def test_every_treatment_with_the_settings_has_a_row(rated: Path) -> None:
    levels = {"application": "hotel-reservation", "workload": "mixed", "workers": "1", "generators": "1"}
    assert [row["treatment"] for row in laid(rated, published(levels=levels))] == [
        "scaling=baseline",
        "scaling=vertical",
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"levels": {"application": "social-network"}}, "not in this run: application social-network"),
        ({"levels": {"workers": "20"}}, "not in this run: workers 20"),
        ({"levels": {"scaling": "vertical", "generators": "3"}}, "not in this run: generators 3"),
        ({"levels": {"placement": "FLC-D"}}, "not in this run: placement FLC-D"),
        ({"at": 500.0}, "not in this run: 500 req/s (tried: 300, 900)"),
        ({"at": None}, "published for one load, and this run has several"),
        ({"measure": None, "why": "it is a secret"}, "it is a secret"),
        ({"span": "order run", "at": None}, "not in this run: span order run"),
        ({"measure": "traced_share", "unit": "%"}, NOT_MEASURED),
        ({"measure": "c0_share", "unit": "%"}, NOT_MEASURED),
    ],
)
def test_what_is_not_in_the_run_says_why(rated: Path, given: Row, why: str) -> None:
    rows = laid(rated, published(**given))
    assert {row["why"] for row in rows} == {why}
    assert [row["value"] for row in rows] == [None] * len(rows)


def test_values_of_bare_metal_are_not_laid_beside_what_ran_in_a_guest(rated: Path, tmp_path: Path) -> None:
    bare = published(levels={"environment": "bare"})
    assert {row["why"] for row in laid(rated, bare)} == {""}
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    for file in folder.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        trial["row"]["environment"] = "vm (guest given)"
        file.write_text(json.dumps(trial))
    (folder / "trials.parquet").unlink()
    (row,) = laid(folder, bare)
    assert (row["value"], row["why"]) == (None, "not in this run: environment bare")


def test_a_value_of_a_node_is_the_mean_of_its_minutes_where_its_service_is_alone(rated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    observe(folder)
    run = open_run(folder)
    systems = minutes.system(rows(MinuteRow, gather(run).tables[MinuteRow.NAME]))
    on = {row.node: list(row.services) for row in systems}
    values = {"measure": "context_switches", "unit": "1/s", "value": 1000.0, "at": None}

    def found(service: str, alone: bool) -> list[Any]:
        known = [replace(row, services=(service, f"documents-{service}")) for row in systems] if alone else systems
        known = [row for row in known if row.node == "worker-1" and row.rate == 300]
        return beside(run, summary.treatments(run), [published(node_of=service, **values)], (), known)

    service = on["worker-1"][0]
    mean = next(row for row in systems if row.node == "worker-1" and row.rate == 300)
    (laid_beside, *_) = found(service, alone=True)
    assert laid_beside.value == pytest.approx(mean.context_switches_per_s)
    assert laid_beside.low <= laid_beside.value <= laid_beside.high
    assert found(service, alone=False)[0].why.startswith(f"published for a host with {service} alone; here it shares")
    assert found("elsewhere", alone=False)[0].why == "not in this run: a recorded node with elsewhere"


def test_trials_that_were_stopped_early_have_no_latency(rated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    (folder / "trials.parquet").unlink()
    for trial in trials(folder, "baseline", 900):
        file = folder / "trials" / trial["trial_id"] / "trial.json"
        content = json.loads(file.read_text())
        content["row"]["aborted_at_s"] = 0.7
        file.write_text(json.dumps(content))
    assert trials(folder, "baseline", 900) == []
    (row,) = laid(folder, published(at=900.0, levels={"scaling": "baseline"}))
    assert row["why"] == NOT_MEASURED


def test_settings_that_are_there_but_not_together(tmp_path: Path) -> None:
    capacities = {"swarm/baseline": 900.0, "nomad/vertical": 900.0, "swarm/vertical": 900.0, "nomad/baseline": 900.0}
    folder = Synthetic(factor="orchestrator/scaling", capacities=capacities, rates=[300], duration_s=1).write(tmp_path)
    plan = json.loads((folder / "plan.json").read_text())
    plan["treatments"] = [item for item in plan["treatments"] if item["label"] != "orchestrator=swarm scaling=vertical"]
    (folder / "plan.json").write_text(json.dumps(plan))
    run = open_run(folder)
    treatments = [
        treatment for treatment in summary.treatments(run) if treatment.label != "orchestrator=swarm scaling=vertical"
    ]
    (row,) = beside(run, treatments, [published(levels={"orchestrator": "swarm", "scaling": "vertical"})])
    assert row.why == "not in this run together: swarm, vertical"


def test_what_a_stand_in_measured_is_not_laid_beside(rated: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    plan = json.loads((folder / "plan.json").read_text())
    for treatment in plan["treatments"]:
        treatment["stand_ins"] = {"couchdb": "couchdb-stand-in"}
    (folder / "plan.json").write_text(json.dumps(plan))
    (row,) = laid(folder, published(levels={"scaling": "baseline"}))
    assert (row["value"], row["why"]) == (None, "couchdb-stand-in in place of couchdb")


def test_units_are_the_published_ones(rated: Path) -> None:
    (ms, us, s) = (laid(rated, published(unit=unit, levels={"scaling": "baseline"}))[0] for unit in ("ms", "us", "s"))
    assert us["value"] == pytest.approx(1000 * ms["value"])
    assert s["value"] == pytest.approx(ms["value"] / 1000)


def test_a_breaking_point_beside_a_range(searched: Path) -> None:
    given = {"measure": "breaking_point", "unit": "req/s", "at": None, "value": None}
    known, open_ = laid(searched, published(**given, low=2000.0, high=3000.0), published(**given, low=500.0))
    run = open_run(searched)
    (treatment,) = summary.treatments(run)
    assert treatment.searched is not None and treatment.searched.result is not None
    point = treatment.searched.result.breaking_point
    assert [known["value"], known["low"], known["high"]] == [point.value, point.low, point.high]
    assert (known["ratio"], known["ratio_low"], known["ratio_high"]) == (
        None,
        pytest.approx(point.low / 3000),
        pytest.approx(point.high / 2000),
    )
    assert (open_["ratio_low"], open_["ratio_high"]) == (None, pytest.approx(point.high / 500))


def test_at_fixed_rates_the_breaking_point_is_a_range(rated: Path) -> None:
    given = published(measure="breaking_point", unit="req/s", at=None, levels={"scaling": "baseline"})
    (row,) = laid(rated, given)
    assert (row["value"], row["low"], row["high"]) == (None, 300, 900)


def test_shares_are_percent_of_the_scheduled(rated: Path) -> None:
    (row,) = laid(rated, published(measure="completed_share", unit="%", levels={"scaling": "vertical"}))
    shares = [100 * trial["completed"] / trial["offered"] for trial in trials(rated, "vertical", 300)]
    assert row["value"] == pytest.approx(np.mean(shares))


def test_traces_are_counted_against_what_was_sent(rated: Path) -> None:
    places = [rated / "trials" / trial["trial_id"] for trial in trials(rated, "vertical", 300)]
    for place in places:
        content = {"window": None, "nodes": {}, "replicas": {}, "traces": {"traces": 90, "requests": 120}}
        (place / "observed.json").write_text(json.dumps(content))
    (row,) = laid(rated, published(measure="traced_share", unit="%", levels={"scaling": "vertical"}))
    assert (row["value"], row["trials"]) == (75.0, 3)
    for place in places:
        (place / "observed.json").unlink()


def test_the_highest_load_without_a_drop_lies_below_the_lowest_with_one(rated: Path) -> None:
    given = {"measure": "nothing_dropped_up_to", "unit": "req/s", "at": None, "value": 600.0}
    (row,) = laid(rated, published(**given, levels={"scaling": "vertical"}))
    assert (row["value"], row["low"], row["high"]) == (None, 900, None)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (None, 1.5, None)


def test_spans_and_statistics_are_those_of_best_fit_runs(rated: Path) -> None:
    fit = {"treatment": "scaling=vertical", "span": "order run", "runs": 5, "p50_us": 1500.0, "p100_us": 9000.0}
    fits = [fit | {"ad_statistic": 42.0, "ks_statistic": 0.5}]
    given = {"span": "order run", "at": None, "levels": {"scaling": "vertical"}}
    rows = laid(
        rated,
        published(**given, measure="p50", unit="us", value=3000.0),
        published(**given, measure="max", unit="ms", value=3.0),
        published(**given, measure="anderson_darling", unit="", value=21.0),
        published(**given, measure="kolmogorov_smirnov", unit="", value=0.25),
        fits=fits,
    )
    assert [(row["value"], row["trials"], row["ratio"]) for row in rows] == [
        (1500.0, 5, 0.5),
        (9.0, 5, 3.0),
        (42.0, 5, None),
        (0.5, 5, 2.0),
    ]
    (several,) = laid(rated, published(**given), fits=fits * 2)
    assert several["why"] == "published for one load, and this run has several"


def test_time_in_c0_is_the_mean_of_the_nodes_with_replicas(tmp_path: Path) -> None:
    folder = Synthetic(rates=[300, 600], duration_s=2).write(tmp_path)
    observe(folder, "rich")
    (row,) = laid(folder, published(measure="c0_share", unit="%", at="highest", value=75.0))
    run = open_run(folder)
    states: list[Row] = gather(run).tables["metrics_cstates"].to_pylist()
    shares = [
        state["share"] for state in states if state["state"] == "C0" and state["replicas"] and state["rate"] == 600
    ]
    assert len(shares) == 2
    assert row["value"] == pytest.approx(100 * np.mean(shares))
    assert (row["at"], row["trials"]) == ("highest", 1)
    for file in folder.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        trial["row"]["environment"] = "vm-container (guest given)"
        file.write_text(json.dumps(trial))
    (row,) = laid(folder, published(measure="c0_share", unit="%", at="highest", value=75.0))
    assert row["value"] is None
    assert row["why"] == "idle states of a virtual machine are its kernel's, not the processor's"


def test_a_mean_is_of_all_trials_or_not_known() -> None:
    assert quantities._over_runs([2.0, 8.0]).value == pytest.approx(4)
    assert quantities._over_runs([2.0, None, 8.0]).why == "not measured in 1 of 3 trials there"
    assert quantities._over_runs([None, None]).why == NOT_MEASURED
