"""How long trials take: the time left of a study whose trials are of different lengths."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from loadstone.cli.progress import Display
from loadstone.experiments import costs, durations, schedule
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.model.trial import Trial
from loadstone.orchestration.process import Process
from tests.experiments.fakes import STUDY, Begin, FakeDriver, FakeInfrastructure, Recorder
from tests.experiments.studies import plan
from tests.trial_rows import trial_row

SERIES = {"series": [{"name": "long", "trial.duration": "100s"}, {"name": "short", "trial.duration": "5s"}]}


def test_the_time_left_counts_how_long_each_trial_is() -> None:
    found = plan(SERIES, load={"slo": {"p99": "200ms"}, "rates": [10]})
    trials = list(schedule.fixed_trials(found))
    records: list[FinishedTrial] = []
    deployed: tuple[object, ...] = ()
    lengths, lefts = {}, []
    for number, trial in enumerate(trials):
        seen = durations.outlook(found, records, trial, deployed)
        assert seen.trials == len(trials) - number
        lengths[trial.duration_s] = seen.length
        lefts.append((seen.left, seen.length))
        row = trial_row(order=number + 1, rate=10.0, phase="fixed")
        records.append(FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(10.0, "fixed", "held"), row))
        deployed = schedule.deployed_for(found, trial)
    assert lefts[0][0] - lefts[0][1] == pytest.approx(lefts[1][0]), "what is left falls by each trial's own length"
    assert lengths[100.0] - lengths[5.0] == pytest.approx(95, abs=Process.deploying_s)


@pytest.mark.parametrize(
    ("trial", "keys", "deployments"),
    [
        ({}, {}, 1),
        ({"redeploy": "per-trial"}, {}, 14),
        ({}, {"comparison": {}}, 21),
        ({"pause": "20s"}, {}, 1),
    ],
)
def test_the_time_counts_each_deployment_and_each_pause(
    trial: dict[str, str], keys: dict[str, Any], deployments: int
) -> None:
    found = plan(
        {"load.connections": [1, 2]},
        load={"slo": {"p99": "200ms"}, "rates": [10]},
        trial={"warmup": "0s", "duration": "5s", "repetitions": 7, **trial},
        **keys,
    )
    trials = 21 if keys else 14
    pause_s = 20.0 if "pause" in trial else 0.0
    seconds = trials * (5 + durations.OVERHEAD_S) + deployments * Process.deploying_s
    assert costs.seconds(found) == pytest.approx(seconds + trials * pause_s)
    first = durations.outlook(found, [], next(schedule.fixed_trials(found)), ())
    assert first.left == pytest.approx(seconds + (trials - 1) * pause_s), "before the first trial is no pause"
    assert first.length == pytest.approx(5 + durations.OVERHEAD_S + Process.deploying_s)


def test_a_short_trial_of_a_search_is_counted_as_one() -> None:
    found = plan({}, load={"capacity": {"slo": {"p99": "200ms"}}}, trial={"warmup": "0s", "duration": "30s"})
    bracket = schedule.next_trial(found, [])
    assert bracket is not None and bracket.duration_s == 10
    fine = bracket.model_copy(update={"duration_s": 30.0})
    seen, whole = (durations.outlook(found, [], trial, ()) for trial in (bracket, fine))
    assert (whole.length - seen.length, whole.left - seen.left) == pytest.approx((20, 20))


def test_a_pause_is_part_of_its_trial(begin: Begin, fake_layers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    class Ordered(Recorder):
        def trial_started(self, trial: Trial, outlook: durations.Outlook) -> None:
            order.append("trial")

    monkeypatch.setattr("loadstone.experiments.conductor.time.sleep", lambda seconds: order.append("pause"))
    plan, ledger = begin(STUDY.replace("repetitions: 2", "repetitions: 1, pause: 5s"))
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), FakeDriver(), Ordered()).run()
    assert order == ["trial", *(["trial", "pause"] * 5)]


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
