"""A study of a closed loop from its file to its report: one trial for each number of clients, and marked as such."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from loadstone.analysis.latency import RateRow
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import schedule
from loadstone.report import page, sentences, terminal
from loadstone.report.content import gather
from tests.experiments.fakes import CLOSED, Conduct, write_study
from tests.support.plans import read_plan

JUDGED = CLOSED.replace("closed:", "slo: {p99: 50ms}, closed:")


def test_each_number_of_clients_is_a_trial_of_its_own(tmp_path: Path) -> None:
    plan = read_plan(write_study(tmp_path, CLOSED))[1]
    trials = list(schedule.fixed_trials(plan))
    assert len({trial.id for trial in trials}) == 2 * 3 * 2
    assert {(trial.phase, trial.rate, trial.clients) for trial in trials} == {("closed", 0.0, n) for n in (1, 5, 20)}
    by_clients = {(trial.clients, trial.repetition): trial.seed for trial in trials}
    assert len(set(by_clients.values())) == 6, "equal trials of two treatments send the same requests, others do not"
    assert load_summary(plan) == "closed loop with 1, 5 and 20 clients x 2 repetitions"


def test_its_think_time_makes_another_trial_and_its_other_clients_do_not(tmp_path: Path) -> None:
    def ids(text: str) -> set[str]:
        return {trial.id for trial in schedule.fixed_trials(read_plan(write_study(tmp_path, text))[1])}

    assert ids(CLOSED).isdisjoint(ids(CLOSED.replace("10ms", "20ms")))
    assert ids(CLOSED.replace("[1, 5, 20]", "[5, 20]")) < ids(CLOSED)


def test_without_an_slo_trials_are_measured_and_with_one_judged(conduct: Conduct) -> None:
    rows = pq.read_table(conduct(CLOSED) / "trials.parquet").to_pylist()
    assert {row["verdict"] for row in rows} == {"measured"}
    assert {(row["phase"], row["loop"], row["rate"]) for row in rows} == {("closed", "closed", 0.0)}
    assert {(row["clients"], row["throughput"]) for row in rows} == {(1, 100.0), (5, 500.0), (20, 2000.0)}
    rows = pq.read_table(conduct(JUDGED) / "trials.parquet").to_pylist()
    assert {row["verdict"] for row in rows} == {"held"}


def test_every_latency_of_it_is_marked(conduct: Conduct) -> None:
    folder = conduct(CLOSED)
    index = page.build(folder).read_text()
    assert "P99 against clients (closed loop)" in index and "Throughput against clients (closed loop)" in index
    assert "Closed loop, by number of clients" in index
    assert "P99<br>closed loop" in index and "P50<br>closed loop" in index
    assert "offered load (requests/s)" not in index
    latency = (folder / "report/figures/latency.svg").read_text()
    assert "P99 latency, closed loop (ms)" in latency and "clients in a closed loop" in latency
    out = io.StringIO()
    Console(file=out, width=160).print(terminal.render(folder))
    assert "Closed loop, by number of clients (medians)" in out.getvalue()
    assert "P99, closed loop" in out.getvalue() and "■ measured" in out.getvalue()


def test_the_answer_in_words(conduct: Conduct) -> None:
    content = gather(conduct(CLOSED.replace("factors: {scaling: [baseline, unlimited]}\n", "")))
    found = "tiny completed **100 req/s** with 1 client and **2,000 req/s** with 20 clients"
    assert sentences.answer(content) == f"{found} (medians over trials), in a closed loop."
    (treatment,) = content.treatments
    single = replace(treatment, trials=tuple(row for row in treatment.trials if row.repetition == 1))
    assert sentences._measured(single).endswith(" with 20 clients, in a closed loop.")
    content = gather(conduct(JUDGED))
    assert sentences.answer(content) == "2 treatments of tiny were tried in a closed loop against P99 ≤ 50 ms."
    finding = sentences.finding(content, content.treatments[0])
    held = "held P99 ≤ 50 ms in all of 6 trials in a closed loop, up to **20 clients**"
    assert finding == f"{held}, the highest number tried."


def test_a_run_that_is_going_on_says_how_many_trials_are_left(conduct: Conduct) -> None:
    folder = conduct(CLOSED)
    for trial in list((folder / "trials").iterdir())[:5]:
        (trial / "trial.json").unlink()
    (folder / "trials.parquet").unlink()
    assert sentences.missing(gather(folder)) == "Not finished: 7 of 12 planned trials."


def test_the_table_of_figures_is_by_clients(conduct: Conduct) -> None:
    folder = conduct(JUDGED)
    rates = gather(folder).rows(RateRow, treatment="scaling=baseline")
    assert [(row.clients, row.trials, row.held, row.measured) for row in rates] == [
        (1, 2, 2, 0),
        (5, 2, 2, 0),
        (20, 2, 2, 0),
    ]
    assert json.loads((folder / "plan.json").read_text())["study"]["load"]["closed"]["think"] == "10ms"
