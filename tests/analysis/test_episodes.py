"""Episodes against every course of the hidden chain, and against stretches of trials that are made slower."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.analysis import breaking_point as bp
from loadstone.analysis import episodes
from loadstone.analysis.episodes import FACTORS, Episode, Floats
from loadstone.analysis.trial_outcome import TrialOutcome
from tests.analysis.chains import chance

STATES = range(len(FACTORS))


def by_hand(likelihoods: Sequence[Floats]) -> tuple[float, Floats]:
    """The likelihood of all outcomes and the states' probabilities in each trial, from all courses of the chain."""
    total, states = 0.0, np.zeros((len(likelihoods), len(FACTORS)))
    for course in itertools.product(STATES, repeat=len(likelihoods)):
        weight = 1.0
        for before, after, likelihood in zip((None, *course), course, likelihoods, strict=False):
            weight *= chance(before, after) * likelihood[after, 0, 0]
        total += weight
        for at, state in enumerate(course):
            states[at, state] += weight
    return total, states / total


LIKELIHOODS = st.lists(
    st.lists(st.floats(0.015, 0.985), min_size=len(FACTORS), max_size=len(FACTORS)).map(
        lambda values: np.array(values).reshape(-1, 1, 1)
    ),
    min_size=1,
    max_size=4,
)


@given(LIKELIHOODS)
def test_the_recursions_are_the_sum_over_all_courses_of_the_chain(likelihoods: list[Floats]) -> None:
    total, states = by_hand(likelihoods)
    assert np.exp(episodes.log_likelihood(likelihoods)[0, 0]) == pytest.approx(total)
    assert episodes.probabilities(likelihoods, np.ones((1, 1))) == pytest.approx(states)


def disturbed(first: int, last: int, factor: float, count: int = 40) -> list[TrialOutcome]:
    """Trials above and below 1000 requests/s, which the system sustains; in some in a row ``factor`` times as much."""
    loads = 1000 * np.exp(0.05 * np.tile([-2, 0.7, -0.7, 1.5], count // 4))
    there = [1000 * (factor if first <= at <= last else 1.0) for at in range(count)]
    return [TrialOutcome(float(load), bool(load < limit)) for load, limit in zip(loads, there, strict=True)]


@pytest.mark.parametrize("factor", [0.5, 0.7, 1.5])
@pytest.mark.parametrize("first", [8, 15, 24])
def test_trials_in_which_a_machine_was_slower_or_faster_are_named(first: int, factor: float) -> None:
    result = bp.estimate(disturbed(first, first + 9, factor))
    (episode,) = result.episodes
    # The first and the last of them may have an outcome that the usual state gives as well.
    assert abs(episode.first - first) <= 2 and abs(episode.last - (first + 9)) <= 2
    assert episode.probability > 0.95
    assert (episode.factor < 0.8) if factor < 1 else (episode.factor > 1.25)
    assert result.breaking_point.low <= 1000 <= result.breaking_point.high
    assert result.breaking_point.precision < 0.05


@pytest.mark.parametrize("first", [0, 20])
def test_where_a_change_stays_the_interval_has_both_states_in_it(first: int) -> None:
    point = bp.estimate(disturbed(first, first + 19, 0.7)).breaking_point
    assert point.low < 720 and point.high > 980


def test_undisturbed_trials_have_no_episode() -> None:
    assert bp.estimate(disturbed(0, -1, 1.0)).episodes == ()


def test_a_trial_that_lies_alone_is_no_episode() -> None:
    trials = disturbed(0, -1, 1.0)
    trials[17] = TrialOutcome(trials[17].load, not trials[17].held)
    assert bp.estimate(trials).episodes == ()


def test_episodes_are_trials_in_a_row_that_are_likely_in_one_and_one_of_them_surely() -> None:
    usual, slow, both = [0.9, 0.05, 0.05, 0, 0], [0.1, 0.9, 0, 0, 0], [0.4, 0.3, 0.3, 0, 0]
    found = episodes.episodes(np.array([usual, slow, both, usual, usual, slow, usual, both, both]))
    assert [(each.first, each.last) for each in found] == [(1, 2), (5, 5)]
    assert found[0].probability == pytest.approx(0.9)
    assert found[1] == Episode(5, 5, pytest.approx(0.9), pytest.approx(0.6))
    assert 0.6 < found[0].factor < 0.75
