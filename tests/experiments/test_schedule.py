"""Which trial is next, by truth tables and by replay."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.experiments import schedule
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.experiments.plan import Plan
from loadstone.model.trial import Trial
from tests.experiments.fakes import SEARCH, STUDY, write_study
from tests.support.plans import read_plan
from tests.trial_rows import row_of


def finish(trial: Trial, capacity: float) -> FinishedTrial:
    outcome = Outcome(trial.rate, trial.phase, "held" if trial.rate < capacity else "not held")
    return FinishedTrial(trial.id, trial.treatment.id, trial.repetition, outcome, row_of(trial, outcome.verdict))


def replay(plan: Plan, capacity: float, records: list[FinishedTrial] | None = None) -> list[FinishedTrial]:
    records = list(records or [])
    while (trial := schedule.next_trial(plan, records)) is not None:
        records.append(finish(trial, capacity))
        assert len(records) < 500
    return records


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return read_plan(write_study(tmp_path))[1]


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return read_plan(write_study(tmp_path_factory.mktemp("study"), SEARCH))[1]


def test_fixed_rates_run_every_combination_once(plan: Plan) -> None:
    trials = list(schedule.fixed_trials(plan))
    assert len(trials) == len({trial.id for trial in trials}) == 2 * 3 * 2
    assert schedule.remaining(plan, []) == 12


def test_interleaved_blocks_each_hold_every_treatment_and_rate(plan: Plan) -> None:
    trials = list(schedule.fixed_trials(plan))
    for block in (trials[:6], trials[6:]):
        assert {(t.treatment.label, t.rate) for t in block} == {(t.treatment.label, t.rate) for t in trials}
        assert len({t.repetition for t in block}) == 1


def test_sequential_order_finishes_a_treatment_first(tmp_path: Path) -> None:
    text = STUDY.replace("repetitions: 2", "repetitions: 2, order: sequential")
    trials = list(schedule.fixed_trials(read_plan(write_study(tmp_path, text))[1]))
    assert [t.treatment.settings.scaling for t in trials] == ["baseline"] * 6 + ["unlimited"] * 6
    assert [t.rate for t in trials[:6]] == [100, 100, 200, 200, 300, 300]


def test_equal_trials_of_two_treatments_send_the_same_requests(plan: Plan) -> None:
    seeds: dict[tuple[float, int], set[int]] = {}
    for trial in schedule.fixed_trials(plan):
        seeds.setdefault((trial.rate, trial.repetition), set()).add(trial.seed)
    assert all(len(same) == 1 for same in seeds.values())
    assert len({seed for same in seeds.values() for seed in same}) == 6


def test_ids_depend_on_the_slo_and_on_nothing_that_changes_between_processes(tmp_path: Path) -> None:
    first = next(schedule.fixed_trials(read_plan(write_study(tmp_path))[1]))
    again = next(schedule.fixed_trials(read_plan(write_study(tmp_path))[1]))
    stricter = next(schedule.fixed_trials(read_plan(write_study(tmp_path), ["load.slo.p99=40ms"])[1]))
    assert first.id == again.id != stricter.id


def test_a_search_of_each_treatment_ends_at_its_capacity(search: Plan) -> None:
    records = replay(search, 730.0)
    assert schedule.failures(search, records) == []
    assert schedule.remaining(search, records) == 0
    for campaign in schedule.campaigns(search):
        fine = [r.outcome for r in schedule.records_of(campaign, records) if r.outcome.phase != "bracket"]
        assert len(fine) >= 5
        assert (
            max(o.load for o in fine if o.verdict == "held") < 730 <= min(o.load for o in fine if o.verdict != "held")
        )


def test_interleaved_searches_take_turns_in_rounds(search: Plan) -> None:
    treatments = [record.treatment_id for record in replay(search, 730.0)]
    runs = [len(list(group)) for _, group in groupby(treatments)]
    assert len(runs) > 2
    assert all(length % schedule.ROUND == 0 for length in runs[:2])


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(0, 60), capacity=st.floats(50, 5000))
def test_a_resumed_search_gives_the_trials_of_an_undisturbed_one(search: Plan, cut: int, capacity: float) -> None:
    whole = replay(search, capacity)
    resumed = replay(search, capacity, whole[:cut])
    assert [record.trial_id for record in resumed] == [record.trial_id for record in whole]


def test_a_search_whose_trials_are_all_invalid_fails_with_the_reason(search: Plan) -> None:
    records: list[FinishedTrial] = []
    while (trial := schedule.next_trial(search, records)) is not None:
        outcome = Outcome(trial.rate, trial.phase, "invalid")
        records.append(
            FinishedTrial(trial.id, trial.treatment.id, trial.repetition, outcome, row_of(trial, outcome.verdict))
        )
    assert len(schedule.failures(search, records)) == 2
    assert "invalid" in schedule.failures(search, records)[0]
