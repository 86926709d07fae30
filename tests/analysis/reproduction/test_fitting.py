"""Best-fit runs by hand, and against SciPy."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.reproduction.fitting import Fitted, Scenario, fit
from loadstone.analysis.statistics.merging import ad_deviation, sample


def scenario(name: str, *runs: object) -> Scenario:
    return Scenario(name, tuple(f"{name}{n}" for n in range(len(runs))), tuple(sample(run) for run in runs))


def fitted_single(*runs: object) -> Fitted:
    return fit([[scenario("a", *runs)]])[0][0]


def test_the_run_in_the_middle_stands_for_the_scenario() -> None:
    low, middle, high = (np.arange(100.0) + shift for shift in (0, 30, 60))
    assert fitted_single(low, middle, high).best == 1
    assert fitted_single(high, low, middle).best == 2
    assert fitted_single(middle, middle + 1, high + 500).best in (0, 1)


def test_of_equal_runs_the_first_is_taken() -> None:
    assert fitted_single(np.arange(50.0), np.arange(50.0), np.arange(50.0)).best == 0
    assert fitted_single(np.arange(50.0)).best == 0


def test_the_baseline_from_itself_is_what_the_study_prints() -> None:
    found = fitted_single(np.random.default_rng(1).normal(size=10_000), np.random.default_rng(2).normal(size=10_000))
    assert (round(found.ad, 2), found.ks) == (-1.31, 0.0)


def test_each_group_has_its_own_baseline() -> None:
    near, far = np.arange(200.0), np.arange(200.0) + 150
    first, second = fit([[scenario("a", near), scenario("b", far)], [scenario("c", far), scenario("d", far)]])
    assert [found.ks for found in first] == [0.0, 0.75]
    assert [found.ks for found in second] == [0.0, 0.0]
    assert [found.scenario.name for found in (*first, *second)] == ["a", "b", "c", "d"]


def test_no_group_and_no_run() -> None:
    assert fit([]) == []


values = st.lists(st.integers(0, 30), min_size=4, max_size=60)


@settings(max_examples=30)
@given(st.lists(values, min_size=2, max_size=4), st.lists(values, min_size=1, max_size=3))
def test_all_statistics_are_those_of_scipy(baseline: list[list[int]], other: list[list[int]]) -> None:
    """With ties; the sums, the choice and the comparison follow from them."""
    a, b = fit([[scenario("a", *baseline), scenario("b", *other)]])[0]
    for found, runs in ((a, baseline), (b, other)):
        sums = [0.0] * len(runs)
        for place, (i, j) in enumerate(itertools.combinations(range(len(runs)), 2)):
            ad, ks = by_scipy(runs[i], runs[j])
            assert found.pairs[place] == (i, j)
            assert found.pair_ad[place] == pytest.approx(ad, rel=1e-9, abs=1e-9)
            assert found.pair_ks[place] == pytest.approx(ks, rel=1e-9)
            sums[i], sums[j] = sums[i] + ad, sums[j] + ad
        assert found.summed_ad == pytest.approx(sums, rel=1e-9, abs=1e-9)
        assert found.summed_ad[found.best] == min(found.summed_ad)
    ad, ks = by_scipy(baseline[a.best], other[b.best])
    assert (b.ad, b.ks) == pytest.approx((ad, ks), rel=1e-9, abs=1e-9)


def by_scipy(x: list[int], y: list[int]) -> tuple[float, float]:
    if len({*x, *y}) < 2:  # SciPy refuses these; the statistic is that of no difference
        return -1 / ad_deviation(len(x), len(y)), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.anderson_ksamp([x, y]).statistic), float(stats.ks_2samp(x, y, method="asymp").statistic)
