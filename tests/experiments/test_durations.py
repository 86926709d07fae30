"""How long trials take: the time left of a study whose trials are of different lengths."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from loadstone.cli.progress import Display
from loadstone.experiments import durations, schedule
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.orchestration.process import Process
from tests.experiments.studies import plan
from tests.trial_rows import trial_row

SERIES = {"series": [{"name": "long", "trial.duration": "100s"}, {"name": "short", "trial.duration": "5s"}]}


def test_the_time_left_counts_how_long_each_trial_is() -> None:
    found = plan(SERIES, load={"slo": {"p99": "200ms"}, "rates": [10]})
    trials = list(schedule.fixed_trials(found))
    records: list[FinishedTrial] = []
    deployed = None
    lengths, lefts = {}, []
    for number, trial in enumerate(trials):
        seen = durations.outlook(found, records, trial, deployed)
        assert seen.trials == len(trials) - number
        lengths[trial.duration_s] = seen.length
        lefts.append((seen.left, seen.length))
        row = trial_row(order=number + 1, rate=10.0, phase="fixed")
        records.append(FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(10.0, "fixed", "held"), row))
        deployed = trial.treatment.deployment
    assert lefts[0][0] - lefts[0][1] == pytest.approx(lefts[1][0]), "what is left falls by each trial's own length"
    assert lengths[100.0] - lengths[5.0] == pytest.approx(95, abs=Process.deploying_s)


def test_what_is_left_is_printed_at_the_pace_of_the_finished_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("loadstone.cli.progress.time.monotonic", lambda: now[0])
    found = plan(SERIES, load={"slo": {"p99": "200ms"}, "rates": [10]})
    trial = next(schedule.fixed_trials(found))
    record = FinishedTrial(
        trial.id, trial.treatment.id, 1, Outcome(10.0, "fixed", "held"), trial_row(order=1, rate=10.0)
    )
    out = io.StringIO()
    with Display(Console(file=out, width=200)) as display:
        display.trial_started(trial, durations.Outlook(trials=2, length=100, left=110))
        now[0] = 200.0
        display.trial_finished(record)
        display.trial_started(trial, durations.Outlook(trials=1, length=10, left=10))
        display.trial_finished(record)
    first, last = out.getvalue().splitlines()
    assert first.endswith("about 0:20 left")
    assert "left" not in last
