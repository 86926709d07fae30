from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.statistics.differences import paired
from loadstone.analysis.statistics.effect import Method
from loadstone.analysis.statistics.planning import (
    detectable,
    least,
    needed_for_equality,
    needed_pairs,
    power,
    power_of_equality,
    reached,
)

spreads, effects = st.floats(0.002, 0.2), st.floats(0.002, 0.5)
methods: list[Method] = ["paired", "unpaired"]


@pytest.mark.parametrize(("pairs", "sd", "effect"), [(10, 0.02, 0.02), (6, 0.05, 0.1), (30, 0.01, 0.003)])
def test_power_is_the_noncentral_t_at_the_level_that_is_reached(pairs: int, sd: float, effect: float) -> None:
    theirs = stats.nct(pairs - 1, math.log1p(effect) / sd * math.sqrt(pairs))
    critical = stats.t(pairs - 1).ppf(1 - {6: 2 / 64, 10: 50 / 1024, 30: 0.05}[pairs] / 2)
    assert power(pairs, sd, effect) == pytest.approx(theirs.sf(critical) + theirs.cdf(-critical), abs=1e-9)


def test_power_without_pairs_is_that_of_two_samples() -> None:
    theirs = stats.nct(58, math.log(1.02) / (0.02 * math.sqrt(2 / 30)))
    critical = stats.t(58).ppf(0.975)
    assert power(30, 0.02, 0.02, method="unpaired") == pytest.approx(
        theirs.sf(critical) + theirs.cdf(-critical), abs=1e-9
    )


def test_power_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(7)
    differences = rng.normal(math.log(1.02), 0.02, (1000, 10))
    found = np.mean([paired(np.zeros(10), difference).p <= 0.05 for difference in differences])
    assert power(10, 0.02, 0.02) == pytest.approx(found, abs=0.05)


def test_power_of_equality_is_what_a_simulation_finds() -> None:
    rng = np.random.default_rng(8)
    for effect in (0.0, 0.01):
        differences = rng.normal(math.log1p(effect), 0.02, (1000, 12))
        found = np.mean([paired(np.zeros(12), difference).p_equal(math.log(1.02)) < 0.05 for difference in differences])
        assert power_of_equality(12, 0.02, effect, 0.02) == pytest.approx(found, abs=0.05)


@settings(max_examples=40, deadline=None)
@given(spreads, effects, st.sampled_from([0.05, 0.005]), st.sampled_from(methods))
def test_needed_is_the_fewest(sd: float, effect: float, alpha: float, method: Method) -> None:
    pairs = needed_pairs(sd, effect, alpha, method=method)
    if pairs is None:
        assert power(10_000, sd, effect, alpha, method) < 0.8
        return
    assert power(pairs, sd, effect, alpha, method) >= 0.8
    assert pairs == least(alpha, method) or power(pairs - 1, sd, effect, alpha, method) < 0.8


@settings(max_examples=40, deadline=None)
@given(spreads, st.integers(6, 60), st.sampled_from(methods))
def test_the_detection_limit_is_what_is_found_with_the_power_requested(sd: float, pairs: int, method: Method) -> None:
    limit = detectable(sd, pairs, method=method)
    assert power(pairs, sd, limit, method=method) == pytest.approx(0.8, abs=1e-6)
    assert needed_pairs(sd, limit * 1.001, method=method) == pairs


def test_equality_takes_more_the_nearer_the_difference_comes_to_the_margin() -> None:
    needed = [needed_for_equality(0.02, effect, 0.02) for effect in (0.0, 0.005, 0.01, 0.015)]
    assert needed == sorted(needed)  # type: ignore[type-var]
    assert len(set(needed)) == 4
    assert needed_for_equality(0.02, 0.02, 0.02) is None


@pytest.mark.parametrize(
    ("alpha", "method", "runs"), [(0.05, "paired", 6), (0.05 / 8, "paired", 9), (0.05, "unpaired", 4)]
)
def test_the_fewest_pairs_that_can_reach_a_level(alpha: float, method: Method, runs: int) -> None:
    assert least(alpha, method) == runs
    assert detectable(0.01, runs - 1, alpha, method=method) == math.inf
    assert detectable(0.01, runs, alpha, method=method) < math.inf


@pytest.mark.parametrize("method", methods)
@given(st.floats(1e-4, 0.05))
def test_the_fewest_pairs_are_those_whose_smallest_p_is_small_enough(method: Method, alpha: float) -> None:
    def smallest(runs: int) -> float:
        return 2 / 2**runs if method == "paired" else 2 / math.comb(2 * runs, runs)

    runs = least(alpha, method)
    assert smallest(runs) <= alpha * (1 + 1e-12)
    assert runs == {"paired": 6, "unpaired": 4}[method] or smallest(runs - 1) > alpha * (1 - 1e-12)


def test_the_level_that_is_reached() -> None:
    assert [reached(n, 0.05, "paired") for n in (4, 5, 6, 10)] == [0, 0, 2 / 64, 50 / 1024]
    assert [reached(n, 0.05, "unpaired") for n in (3, 4, 5)] == [0, 2 / 70, 12 / 252]
    assert reached(6, 2 / 64, "paired") == 2 / 64
    assert power(5, 0.0, 1.0) == 0


def test_no_spread_sees_everything_and_too_much_of_it_nothing() -> None:
    assert detectable(0.0, 10) == 0
    assert needed_pairs(0.0, 0.01) == 6
    assert needed_pairs(1.0, 0.001) is None
    assert power(10, 0.0, 0.01) == 1
