"""The search against truth tables, as if loads held or did not by decree, and against noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis.confirmation import MOST as MOST_FRESH
from loadstone.experiments.next_trial import NextTrial, Outcome, readable
from loadstone.experiments.search import (
    CONFIRMING,
    FINE_LEAST,
    FINE_MOST,
    ROUNDS,
    Search,
    SearchFailed,
    SearchResult,
    expected_trials,
    next_probe,
)
from loadstone.model.records.trial_row import TrialVerdict
from tests.experiments.searches import MOST, Oracle, loads, noisy, run, step_at

pytestmark = pytest.mark.slow

BRACKETS = [
    # start, truth table: load -> held; the loads that must be tried, in order
    (100, {100: True, 200: True, 400: False, 283: True}, [100, 200, 400, 283]),
    (100, {100: False, 50: False, 25: True, 35.4: False}, [100, 50, 25, 35.4]),
    (100, {100: True, 200: False, 141: False}, [100, 200, 141]),
    (150, {150: True, 300: True, 600: True, 1200: False, 849: True}, [150, 300, 600, 1200, 849]),
]


@pytest.mark.parametrize(("start", "table", "wanted"), BRACKETS)
def test_the_bracket_follows_the_truth_table(start: float, table: dict[float, bool], wanted: list[float]) -> None:
    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        if probe.phase != "bracket":
            return "held" if probe.load < 100 else "not held"
        assert probe.duration_s == 10
        return "held" if table[probe.load] else "not held"

    _, history = run(Search(start=start), oracle)
    assert loads(history, "bracket") == wanted
    assert [outcome.phase for outcome in history[: len(wanted) + 1]] == ["bracket"] * len(wanted) + ["fine"]


@pytest.mark.parametrize("capacity", [3.3, 47, 100, 790, 12_345, 98_000])
def test_a_sharp_edge_is_found(capacity: float) -> None:
    result, history = run(Search(), step_at(capacity))
    assert isinstance(result, SearchResult)
    point = result.result.breaking_point
    assert point.low <= capacity <= point.high
    assert point.precision <= 0.05
    assert FINE_LEAST <= len(loads(history, "fine")) <= 15
    assert result.confirmed
    assert result.result.capacity.value < point.value


def test_finer_precision_takes_more_trials() -> None:
    coarse, few = run(Search(precision=0.10), noisy(790, 0.03, 1))
    fine, many = run(Search(precision=0.02), noisy(790, 0.03, 1))
    assert isinstance(coarse, SearchResult) and isinstance(fine, SearchResult)
    assert len(few) < len(many)
    assert fine.result.breaking_point.precision <= 0.02 or len(loads(many, "fine")) == FINE_MOST


@pytest.mark.parametrize("lie", ["bracket low", "bracket high"])
def test_a_bracket_that_lied_is_outgrown(lie: str) -> None:
    """A hiccup in a short trial must not lock the search into a wrong range."""
    wrong = 200 if lie == "bracket low" else 1600

    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        truth = probe.load <= 790
        lies = probe.phase == "bracket" and probe.load == wrong
        return "held" if truth != lies else "not held"

    result, history = run(Search(), oracle)
    assert isinstance(result, SearchResult)
    assert result.result.breaking_point.low <= 790 <= result.result.breaking_point.high
    assert len(loads(history, "fine")) <= 25


def test_even_the_lowest_load_fails() -> None:
    result, history = run(Search(start=100, lowest=10), lambda probe, _: "not held")
    assert isinstance(result, SearchFailed)
    assert result.at_most == 10 and result.at_least is None
    assert "10/s" in result.reason
    assert loads(history, "bracket") == [100, 50, 25, 12.5, 10, 10]
    assert len(history) == 6


def test_even_the_highest_load_holds() -> None:
    result, history = run(Search(start=100, highest=1000), lambda probe, _: "held")
    assert isinstance(result, SearchFailed)
    assert result.at_least == 1000 and result.at_most is None
    assert loads(history, "bracket") == [100, 200, 400, 800, 1000, 1000]


def test_a_highest_load_that_failed_once_by_mistake_fails_the_search_with_a_bound() -> None:
    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        return "not held" if probe.phase == "bracket" and probe.load == 1000 else "held"

    result, history = run(Search(start=100, highest=1000), oracle)
    assert isinstance(result, SearchFailed)
    assert result.at_least == 1000
    assert len(loads(history, "fine")) < 20


def test_a_lowest_load_that_held_once_by_mistake_fails_the_search_with_a_bound() -> None:
    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        return "held" if probe.phase == "bracket" and probe.load == 10 else "not held"

    result, _ = run(Search(start=100, lowest=10), oracle)
    assert isinstance(result, SearchFailed)
    assert result.at_most == 10


def test_one_load_is_all_there_is() -> None:
    result, _ = run(Search(start=50, lowest=50, highest=50), lambda probe, _: "held")
    assert isinstance(result, SearchFailed) and result.at_least == 50


def test_a_system_without_an_edge_ends_at_the_budget_with_a_warning() -> None:
    """Held or not by the toss of a coin, whatever the load."""

    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        if probe.phase == "bracket":
            return "held" if probe.load <= 800 else "not held"
        return "held" if random.Random(f"{count}").random() < 0.5 else "not held"

    result, history = run(Search(precision=0.01), oracle)
    assert isinstance(result, SearchResult)
    assert len(loads(history, "fine")) == FINE_MOST
    assert not result.confirmed and loads(history, "confirm") == []
    assert result.result.breaking_point.precision > 0.01


def test_too_many_invalid_trials_in_a_row_fail_with_the_reason() -> None:
    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        return "invalid" if count >= 4 else "held"

    result, history = run(Search(), oracle)
    assert isinstance(result, SearchFailed)
    assert "5 trials in a row were invalid" in result.reason and "1600/s" in result.reason
    assert len(history) == 9
    assert {outcome.load for outcome in history[4:]} == {1600}


def test_an_invalid_trial_is_repeated_and_changes_nothing() -> None:
    plain, history = run(Search(), step_at(790))
    sprinkled: list[Outcome] = []
    for outcome in history:
        sprinkled += [Outcome(outcome.load, outcome.phase, "invalid"), outcome]
        assert next_probe(Search(), sprinkled[:-2]) == next_probe(Search(), sprinkled[:-1])
    assert next_probe(Search(), sprinkled) == plain


@given(
    capacity=st.floats(2, 50_000),
    slope=st.floats(0.005, 0.3),
    seed=st.integers(0, 1000),
    start=st.floats(2, 50_000),
    precision=st.sampled_from([0.01, 0.05, 0.2]),
    invalid=st.sampled_from([0.0, 0.2]),
)
@settings(max_examples=15, deadline=None)
def test_it_ends_within_bounds_whatever_comes(
    capacity: float, slope: float, seed: int, start: float, precision: float, invalid: float
) -> None:
    search = Search(start=start, lowest=2, highest=50_000, precision=precision)
    _, history = run(search, noisy(capacity, slope, seed, invalid))
    assert all(search.lowest <= outcome.load <= search.highest for outcome in history)
    assert all(
        outcome.load == readable(outcome.load) or outcome.load in (search.lowest, search.highest) for outcome in history
    )
    valid = [outcome for outcome in history if outcome.verdict != "invalid"]
    assert len(loads(valid, "fine")) <= FINE_MOST
    assert len(loads(valid, "bracket")) <= 20
    assert len(loads(valid, "confirm")) <= ROUNDS * MOST_FRESH


@given(st.lists(st.sampled_from(["held", "not held", "invalid"]), min_size=MOST, max_size=MOST))
@settings(max_examples=10, deadline=None)
def test_it_ends_for_an_adversary(answers: list[TrialVerdict]) -> None:
    run(Search(lowest=10, highest=10_000), lambda _, count: answers[count])


def hinted(oracle: Oracle, hint: Callable[[float, int], float | None]) -> Callable[[Search], list[Outcome]]:
    """A search whose trials that held say ``hint(load, count)``; gives its history."""

    def history(search: Search) -> list[Outcome]:
        done: list[Outcome] = []
        while isinstance(step := next_probe(search, done), NextTrial):
            verdict = oracle(step, len(done))
            done.append(
                Outcome(step.load, step.phase, verdict, hint(step.load, len(done)) if verdict == "held" else None)
            )
            assert len(done) < MOST
        return done

    return history


@pytest.mark.parametrize("bias", [0.8, 1.0, 1.2])
def test_the_bracket_goes_where_the_cpu_says_that_the_break_is(bias: float) -> None:
    history = hinted(step_at(3000), lambda load, _: 3000 * bias)(Search())
    assert len(loads(history, "bracket")) <= 5  # from 100 to 3,000 it takes 7 trials to double and bisect
    assert max(loads(history, "bracket")) < 6000


@pytest.mark.parametrize("wrong", [0.01, 0.3, 3.0, 1000.0])
def test_a_wild_hint_costs_some_trials_and_nothing_else(wrong: float) -> None:
    history = hinted(step_at(3000), lambda load, _: load * wrong)(Search())
    result = next_probe(Search(), history)
    assert isinstance(result, SearchResult)
    assert result.result.breaking_point.low <= 3000 <= result.result.breaking_point.high
    assert len(loads(history, "bracket")) <= 13
    steps = loads(history, "bracket")
    assert all(later <= 10.1 * max(steps[: i + 1]) for i, later in enumerate(steps[1:]))


def test_a_hinted_search_that_was_killed_resumes_to_the_same_end() -> None:
    whole = hinted(noisy(3000, 0.03, 4), lambda load, count: 3000 * random.Random(count).lognormvariate(0, 0.3))(
        Search()
    )
    for cut in range(0, len(whole), 5):
        step = next_probe(Search(), whole[:cut])
        assert isinstance(step, NextTrial) and (step.load, step.phase) == (whole[cut].load, whole[cut].phase)


@given(seed=st.integers(0, 100), cut=st.integers(0, 40))
@settings(max_examples=10, deadline=None)
def test_a_killed_search_resumes_to_the_same_end(seed: int, cut: int) -> None:
    search, oracle = Search(), noisy(790, 0.04, seed, invalid=0.1)
    result, history = run(search, oracle)
    again, resumed = run(search, oracle, history[:cut])
    assert (again, resumed) == (result, history)


def test_noise_of_three_percent_is_seldom_fooled() -> None:
    ends = [run(Search(start=100 + seed), noisy(790, 0.03, seed))[0] for seed in range(40)]
    points = [end.result.breaking_point for end in ends if isinstance(end, SearchResult)]
    assert len(points) == 40
    assert sum(point.low <= 790 <= point.high for point in points) >= 36  # seeds are fixed


def test_expected_trials_falls_to_zero_and_is_of_the_right_size() -> None:
    ratios = []
    for seed in range(20):
        search = Search()
        _, history = run(search, noisy(790, 0.04, seed))
        left = [expected_trials(search, history[:i]) for i in range(len(history) + 1)]
        assert left[-1] == 0
        assert all(value > 0 for value in left[:-1])
        assert left[len(history) // 2] < 2 * left[0]
        ratios.append(left[0] / len(history))
    assert 0.6 < sorted(ratios)[10] < 1.6


def test_no_more_fine_trials_are_expected_than_may_be_run() -> None:
    assert expected_trials(Search(precision=0.01), []) <= 5 + FINE_MOST + CONFIRMING


@pytest.mark.parametrize(
    "wrong",
    [{"start": 0}, {"start": 5, "lowest": 10}, {"highest": 50}, {"precision": 0.001}, {"highest": math.inf}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must satisfy|not between"):
        Search(**wrong)


def test_a_foreign_phase_is_refused() -> None:
    with pytest.raises(ValueError, match="fixed"):
        next_probe(Search(), [Outcome(100, "fixed", "held")])


@pytest.mark.parametrize(("load", "rounded"), [(789.5, 790), (12_345, 12_300), (0.12345, 0.123), (99.96, 100)])
def test_loads_are_readable(load: float, rounded: float) -> None:
    assert readable(load) == rounded


@pytest.mark.parametrize("load", [0.0, -3.0, math.nan, math.inf])
def test_what_is_no_load_is_refused(load: float) -> None:
    with pytest.raises(ValueError, match="not a positive"):
        readable(load)
