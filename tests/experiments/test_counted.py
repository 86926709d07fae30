"""Closed loops that end by their number of requests: what is planned, offered, judged and reported."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.iterations import IterationPoint, IterationTotals
from loadstone.analysis.published import PublishedRow, beside
from loadstone.analysis.run import trial_files
from loadstone.analysis.schema import rows
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import durations, schedule
from loadstone.experiments.plan import Plan
from loadstone.experiments.verdict import judge
from loadstone.model.columns import columns_of
from loadstone.model.load import Closed, Load
from loadstone.model.papers import Published
from loadstone.model.records.iteration import Iteration
from loadstone.model.records.summary import TrialSummary
from loadstone.model.workload import Workload
from loadstone.report import iterations, page
from loadstone.report.content import gather
from loadstone.report.section import Section
from loadstone.workloads.base import Offer
from loadstone.workloads.stone import Stone, load_plan
from tests.experiments.fakes import CLOSED, STUDY, Conduct, write_study
from tests.support.plans import read_plan
from tests.support.summaries import changed
from tests.workloads.offers import offer

OPEN = "rates: [100, 200, 300], slo: {p99: 50ms}"
TRIAL = "trial: {warmup: 0s, duration: 1s, repetitions: 2}"


def planned(folder: Path, load: str, trial: str) -> Plan:
    text = STUDY.replace(OPEN, load).replace(TRIAL, f"trial: {trial}")
    assert load in text and trial in text
    return read_plan(write_study(folder, text))[1]


def test_clients_send_what_the_study_says(tmp_path: Path) -> None:
    load = "closed: {clients: [1, 5], requests: 100, iterations: 10}"
    plan = planned(tmp_path, load, "{warmup: 0s, limit: 10m, repetitions: 2}")
    trials = list(schedule.fixed_trials(plan))
    assert {(trial.clients, trial.duration_s, trial.requests) for trial in trials} == {(1, 600, None), (5, 600, None)}
    assert load_summary(plan) == "closed loop with 1 and 5 clients, 10 iterations of 100 requests each x 2 repetitions"
    assert durations.trial_seconds(plan) is None, "only answers decide how long it takes"


def test_a_pace_tells_the_least_that_it_takes(tmp_path: Path) -> None:
    trial = "{requests: 10000, warmup: {requests: 5000}, repetitions: 2}"
    plan = planned(tmp_path, "closed: {clients: [3], pace: 20}", trial)
    first = next(schedule.fixed_trials(plan))
    assert (first.requests, first.warmup_requests, first.warmup_s) == (10_000, 5_000, 0)
    assert durations.trial_seconds(plan) == pytest.approx(750, abs=10)
    summary = "closed loop with 3 clients, 10,000 requests in all, at most 20 requests/s x 2 repetitions"
    assert load_summary(plan) == summary


def test_a_number_of_requests_at_a_rate_is_a_window(tmp_path: Path) -> None:
    plan = planned(tmp_path, OPEN, "{requests: 600, warmup: {requests: 300}, repetitions: 2}")
    windows = {(trial.rate, trial.duration_s, trial.warmup_s) for trial in schedule.fixed_trials(plan)}
    assert windows == {(100, 6, 3), (200, 3, 1.5), (300, 2, 1)}
    steady = load_plan(offer(rate=200.0, warmup_s=1.5, duration_s=3.0, warmup_requests=300))
    assert steady["arrival"]["steady_warmup"] and "closed" not in steady


def test_the_plan_of_the_generator() -> None:
    closed = Load(closed=Closed(clients=[5], pace=20, requests=100, iterations=10))
    assert load_plan(offer(load=closed, clients=5))["closed"] == {
        "clients": 5,
        "think_s": 0.0,
        "pace": 20.0,
        "requests": 100,
        "iterations": 10,
    }
    in_all = load_plan(offer(load=Load(closed=Closed(clients=[5])), clients=5, requests=900, warmup_requests=40))
    assert in_all["closed"] == {"clients": 5, "think_s": 0.0, "total": 900, "warmup_requests": 40}


def counted(server: str, folder: Path, closed: Closed, clients: int, **changes: object) -> Offer:
    workload = Workload.model_validate({"operations": {"get": {"path": "/"}}})
    load = Load(closed=closed, timeout=20, record_requests=True)
    folder.mkdir(exist_ok=True)
    given = {"targets": (server,), "workload": workload, "duration_s": 300.0, **changes}
    return offer(folder, load=load, rate=0.0, clients=clients, **given)


def test_a_real_one_writes_the_table_of_its_iterations(server: str, tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    edges: list[str] = []
    folder = tmp_path / "trial"
    given = counted(
        server,
        folder,
        Closed(clients=[4], requests=25, iterations=3),
        4,
        window_begins=lambda: edges.append("begin"),
        window_ends=lambda: edges.append("end"),
    )
    summary = Stone().run(given, events.append)
    assert summary.is_counted and summary.planned == summary.counts.sent == summary.counts.completed == 300
    assert edges == ["begin", "end"]
    assert summary.window_s < 300 and summary.batches == () and summary.iterations is not None
    table = pq.read_table(folder / "iterations.parquet")
    assert table.column_names == [column.name for column in columns_of(Iteration)]
    made = [Iteration.model_validate(row) for row in table.to_pylist()]
    requests = pq.read_table(folder / "requests.parquet").to_pylist()
    assert Counter((row["client"], row["iteration"]) for row in requests) == {
        (row.client, row.iteration): row.requests for row in made
    }
    assert len(made) == 12 and {row.requests for row in made} == {25}
    total = sum(row["ended_ns"] - row["scheduled_ns"] for row in requests) / 1e6
    assert sum((row.mean_ms or 0) * row.requests for row in made) == pytest.approx(total)
    assert summary.iterations.total_s == pytest.approx(sum(row.duration_s for row in made))
    assert judge(summary, None).verdict in ("measured", "invalid")  # a busy machine makes the generator late


def test_what_is_over_its_limit_is_invalid(server: str, tmp_path: Path) -> None:
    closed = Closed(clients=[1], requests=1000, think=0.01)
    summary = Stone().run(counted(server, tmp_path / "trial", closed, 1, duration_s=0.5), lambda event: None)
    found = judge(summary, None)
    assert found.verdict == "invalid"
    assert "of 1,000 requests when trial.limit was over" in found.reasons[0]


def test_missed_slots_are_a_doubt() -> None:
    missed = TrialSummary.model_validate(changed(slots_missed=7))
    assert "7 slots of the pace passed" in " ".join(judge(missed, None).warnings)


def found(folder: Path) -> Section:
    section = iterations.gather(gather(folder))
    assert section is not None
    return section


COUNTED = CLOSED.replace("think: 10ms", "requests: 50, iterations: 4").replace("duration: 1s, ", "")


def test_the_report_shows_the_time_of_each_iteration(conduct: Conduct) -> None:
    folder = conduct(COUNTED)
    section = found(folder)
    points = {
        (row.treatment, row.clients, row.iteration): row for row in rows(IterationPoint, section.tables["iterations"])
    }
    assert len(points) == 2 * 3 * 4
    last = points["scaling=baseline", 5, 4]
    assert (last.trials, last.requests, last.errors, last.mean_ms) == (2, 50, 0, 2.0)
    # 5 clients: 5 s for the first, 10 % longer for each further one, and a second longer for each iteration.
    assert (last.duration_s, last.shortest_s, last.longest_s) == pytest.approx((10, 9, 11))
    totals = rows(IterationTotals, section.tables["iteration_totals"])
    assert [(row.clients, row.trials, row.iterations) for row in totals[::2]] == [(1, 2, 8), (5, 2, 40), (20, 2, 160)]
    assert totals[0].mean_s == pytest.approx(3.5) and totals[0].total_s == pytest.approx(28)
    trials = pq.read_table(folder / "trials.parquet").to_pylist()
    assert {(row["clients"], row["iterations"]) for row in trials} == {(1, 4), (5, 20), (20, 80)}
    assert all(row["iterations_s"] == pytest.approx(row["iterations"] * row["iteration_mean_s"]) for row in trials)
    index = page.build(folder).read_text()
    assert "Time of an iteration (closed loop)" in index and "50 requests of each client" in index
    assert "20 clients" in (folder / "report/figures/iterations.svg").read_text()
    assert (folder / "report/figures/iterations.pdf").exists() and (folder / "report/tables/iterations.csv").exists()


def test_a_damaged_table_of_iterations_is_named(conduct: Conduct) -> None:
    folder = conduct(COUNTED)
    table = next(folder.glob("trials/*/iterations.parquet"))
    table.write_bytes(b"PAR1")
    (problem,) = trial_files.problems(table.parent, measured=False)
    tables = found(folder).tables
    assert problem.startswith("iterations.parquet (") and tables["iterations"].num_rows == 24
    totals = rows(IterationTotals, tables["iteration_totals"])
    assert all(row.iterations == 4 * row.clients * row.trials for row in totals)
    assert sorted(row.trials for row in totals) == [1, 2, 2, 2, 2, 2]


def test_published_times_of_iterations_are_laid_beside(conduct: Conduct) -> None:
    text = COUNTED.replace("factors: {scaling: [baseline, unlimited]}\n", "").replace(
        "clients: [1, 5, 20]", "clients: [1, 5]"
    )
    content = gather(conduct(text))
    usual: dict[str, object] = {
        "source": "",
        "quantity": "",
        "unit": "s",
        "measure": "iteration_s",
        "why": "",
        "span": None,
        "node_of": None,
    }
    usual |= {"at": 4.0, "value": 20.0, "low": None, "high": None}
    levels = {"application": "tiny", "requests": "50"}

    def value(**other: str) -> PublishedRow:
        entry = Published(**usual, levels={**levels, **other})  # type: ignore[arg-type]
        (row,) = beside(content.run, content.treatments, [entry])
        return row

    five = value(clients="5")
    assert (five.value, five.ratio, five.trials, five.unit) == (pytest.approx(10), pytest.approx(0.5), 2, "s")
    assert value(clients="10").why == "not in this run: 10 clients"
    assert value(requests="100", clients="5").why == "not in this run: requests 100"
