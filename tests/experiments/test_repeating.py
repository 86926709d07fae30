"""Comparisons in the schedule: the baseline's second runs, and rules that end the repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.experiments import repeating, schedule
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.experiments.plan import Plan
from loadstone.model.trial import Trial
from tests.experiments.fakes import STUDY, write_study
from tests.support.plans import read_plan
from tests.trial_rows import row_of

COMPARED = STUDY.replace("repetitions: 2", "repetitions: 7") + "comparison: {baseline: {scaling: unlimited}}\n"
UNTIL = STUDY.replace("repetitions: 2", "repetitions: {least: 4, most: 9, every: 2, until: {p50: 2%}}").replace(
    "[100, 200, 300]", "[100]"
)
Latency = Callable[[Trial], float]


def plan_of(folder: Path, text: str) -> Plan:
    return read_plan(write_study(folder, text))[1]


def finish(trial: Trial, p50: float, verdict: str = "held") -> FinishedTrial:
    outcome = Outcome(trial.rate, trial.phase, verdict)  # type: ignore[arg-type]
    return FinishedTrial(trial.id, trial.treatment.id, trial.repetition, outcome, row_of(trial, verdict, p50_ms=p50))


def replay(
    plan: Plan, p50: Latency, records: Sequence[FinishedTrial] = (), verdict: str = "held"
) -> list[FinishedTrial]:
    done = list(records)
    while (trial := schedule.next_trial(plan, done)) is not None:
        done.append(finish(trial, p50(trial), verdict))
        assert len(done) < 200
    return done


def steady(trial: Trial) -> float:
    return 5.0


def restless(trial: Trial) -> float:
    return 5.0 if trial.repetition % 2 else 7.0


@pytest.fixture(scope="module")
def until(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_of(tmp_path_factory.mktemp("study"), UNTIL)


def test_the_baseline_runs_twice_in_every_block(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, COMPARED)
    assert plan.baseline.settings.scaling == "unlimited"
    trials = list(schedule.fixed_trials(plan))
    assert len(trials) == len({trial.id for trial in trials}) == 7 * 3 * 3
    for block in range(6):
        runs = [(t.treatment.label, t.number) for t in trials[9 * block : 9 * block + 9]]
        assert {run: runs.count(run) for run in runs} == {
            ("scaling=baseline", 1): 3,
            ("scaling=unlimited", 1): 3,
            ("scaling=unlimited", 2): 3,
        }
        assert all(runs[i] == runs[i + 1] == runs[i + 2] for i in (0, 3, 6)), "the loads of a run follow each other"


def test_all_runs_of_a_block_send_the_same_requests(tmp_path: Path) -> None:
    trials = list(schedule.fixed_trials(plan_of(tmp_path, COMPARED)))
    seeds = {(t.rate, t.repetition): t.seed for t in trials}
    assert all(t.seed == seeds[t.rate, t.repetition] for t in trials)
    assert len(set(seeds.values())) == 21


def test_the_order_of_the_runs_of_a_block_changes(tmp_path: Path) -> None:
    trials = list(schedule.fixed_trials(plan_of(tmp_path, COMPARED)))
    orders = {tuple((t.treatment.label, t.number) for t in trials[k : k + 9 : 3]) for k in range(0, len(trials), 9)}
    assert len(orders) > 2


def test_a_study_without_factors_is_compared_with_itself(tmp_path: Path) -> None:
    text = COMPARED.replace("factors: {scaling: [baseline, unlimited]}\n", "").replace(
        "{baseline: {scaling: unlimited}}", "{}"
    )
    trials = list(schedule.fixed_trials(plan_of(tmp_path, text)))
    assert [sorted(t.number for t in trials[k : k + 6]) for k in (0, 6)] == [[1, 1, 1, 2, 2, 2]] * 2


def test_what_is_known_well_ends_at_the_first_look(until: Plan) -> None:
    assert len(replay(until, steady)) == 4 * 2
    assert schedule.failures(until, replay(until, steady)) == []


def test_what_stays_uncertain_runs_to_the_end_and_is_reported(until: Plan) -> None:
    records = replay(until, restless)
    assert len(records) == 9 * 2
    assert schedule.failures(until, records)[0].startswith(
        "scaling=baseline: after 9 valid runs at 100 req/s the interval of the P50 is +-"
    )
    assert schedule.failures(until, records)[0].endswith("%, not 2%")


def test_one_treatment_that_is_uncertain_keeps_all_going(until: Plan) -> None:
    def first_only(trial: Trial) -> float:
        return restless(trial) if trial.treatment.settings.scaling == "unlimited" else steady(trial)

    assert len(replay(until, first_only)) == 9 * 2


def test_a_later_look_ends_it_too(until: Plan) -> None:
    assert len(replay(until, lambda trial: 5.2 if trial.repetition == 1 else 5.0)) == 6 * 2


def test_treatments_without_a_valid_run_are_not_waited_for(until: Plan) -> None:
    assert len(replay(until, steady, verdict="invalid")) == 4 * 2


def test_how_much_is_left_is_reported_for_the_fewest_until_more_is_known(until: Plan) -> None:
    assert schedule.remaining(until, []) == 8
    whole = replay(until, restless)
    assert schedule.remaining(until, whole[:8]) == 4
    assert schedule.remaining(until, whole) == 0


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(0, 18), spread=st.sampled_from([0.0, 0.03, 0.2]))
def test_a_resumed_study_gives_the_trials_of_an_undisturbed_one(until: Plan, cut: int, spread: float) -> None:
    def p50(trial: Trial) -> float:
        return 5 * (1 + spread * (trial.seed % 100) / 100)

    whole = replay(until, p50)
    resumed = replay(until, p50, whole[:cut])
    assert [record.trial_id for record in resumed] == [record.trial_id for record in whole]


def test_a_run_of_an_earlier_release_goes_on_beyond_the_first_look(until: Plan) -> None:
    whole = replay(until, restless)
    earlier = [replace(record, trial_id=f"earlier-{record.trial_id}") for record in whole[:8]]
    resumed = replay(until, restless, earlier)
    assert [record.trial_id for record in resumed[8:]] == [record.trial_id for record in whole[8:]]


def test_a_number_of_repetitions_is_no_rule() -> None:
    assert not repeating.ends(3, 10, 0, [])
    assert repeating.unreached(3, []) == []
