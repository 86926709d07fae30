"""Each test of a difference against SciPy's, or against its definition spelled out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.statistics import relabelling
from loadstone.analysis.statistics.differences import holm, paired, unpaired
from loadstone.analysis.statistics.effect import Floats
from loadstone.analysis.statistics.relabelling import permutation, sign_flip

value = st.integers(-5000, 5000).map(lambda number: number / 1024)
"""Adds up without rounding, so that what is tied is tied for SciPy too."""
tied = st.integers(-2, 2).map(float)


def lists(least: int, most: int) -> st.SearchStrategy[Floats]:
    return st.one_of(st.lists(value, min_size=least, max_size=most), st.lists(tied, min_size=least, max_size=most)).map(
        np.array
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(value, value), min_size=3, max_size=30))
def test_paired_t_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    if np.ptp(b - a) < 1e-6:
        return  # no spread to speak of
    ours, theirs = paired(a, b), stats.ttest_rel(b, a)
    assert ours.p_t == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-9)
    if len(pairs) < 6:
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)), rel=1e-9, abs=1e-9)
    shifted = stats.ttest_1samp(b - a, 0.3, alternative="less"), stats.ttest_1samp(b - a, -0.3, alternative="greater")
    assert ours.p_equal(0.3) == pytest.approx(max(item.pvalue for item in shifted), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(lists(3, 20), lists(3, 20))
def test_welch_is_that_of_scipy(a: Floats, b: Floats) -> None:
    if min(np.ptp(a), np.ptp(b)) < 1e-6:
        return
    ours, theirs = unpaired(a, b), stats.ttest_ind(b, a, equal_var=False)
    assert ours.p_t == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-9)
    if min(len(a), len(b)) < 4 and len(a) + len(b) < 8:
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(lists(2, 10))
def test_sign_flip_is_that_of_scipy(values: Floats) -> None:
    theirs = stats.permutation_test((values,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values).p == pytest.approx(min(1, theirs.pvalue), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(lists(2, 5), lists(2, 6))
def test_permutation_counts_every_split(a: Floats, b: Floats) -> None:
    everything = np.concatenate((a, b))
    seen, more, less, splits = b.mean() - a.mean(), 0, 0, 0
    for chosen in combinations(range(len(everything)), len(a)):
        inside = np.isin(np.arange(len(everything)), chosen)
        split = everything[~inside].mean() - everything[inside].mean()
        splits, more, less = splits + 1, more + (split >= seen - 1e-9), less + (split <= seen + 1e-9)
    assert permutation(a, b).p == pytest.approx(min(1, 2 * min(more, less) / splits), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(lists(6, 11), st.sampled_from([0.05, 0.1, 0.2]))
def test_an_interval_of_pairs_has_every_difference_that_sign_flip_does_not_reject(values: Floats, alpha: float) -> None:
    _, low, high = sign_flip(values, alpha)
    for end, beyond in ((low, low - 1e-7), (high, high + 1e-7)):
        assert sign_flip(values - beyond).p <= alpha < sign_flip(values - end).p


@settings(max_examples=40, deadline=None)
@given(lists(4, 6), lists(4, 7), st.sampled_from([0.05, 0.1, 0.2]))
def test_an_interval_of_runs_has_every_difference_that_permutation_does_not_reject(
    a: Floats, b: Floats, alpha: float
) -> None:
    _, low, high = permutation(a, b, alpha)
    for end, beyond in ((low, low - 1e-7), (high, high + 1e-7)):
        assert permutation(a, b - beyond).p <= alpha < permutation(a, b - end).p


def test_intervals_of_pairs_cover_the_truth_as_often_as_they_promise() -> None:
    """Heavy tails on both sides, as of a machine that is disturbed now and then."""
    rng = np.random.default_rng(8)
    intervals = [sign_flip(rng.standard_t(1.5, 9) + 3)[1:] for _ in range(2000)]
    covered = np.mean([low <= 3 <= high for low, high in intervals])
    assert abs(covered - 0.95) < 0.02


def test_permutation_of_equal_sides_is_that_of_scipy() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 6), rng.normal(1, 1, 6)
    theirs = stats.permutation_test((a, b), lambda x, y: x.mean() - y.mean(), n_resamples=np.inf)
    assert permutation(a, b).p == pytest.approx(theirs.pvalue, abs=1e-9)


def test_monte_carlo_comes_close_to_the_exact_p_and_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 10), rng.normal(0.8, 1, 10)
    exact = sign_flip(b - a), permutation(a, b)
    monkeypatch.setattr(relabelling, "ENUMERATED", 5)
    drawn = sign_flip(b - a), permutation(a, b)
    for by_draws, by_all in zip(drawn, exact, strict=True):
        assert by_draws != by_all
        assert by_draws.p == pytest.approx(by_all.p, abs=0.005)
        assert by_draws[1:] == pytest.approx(by_all[1:], abs=0.02)
    assert drawn == (sign_flip(b - a), permutation(a, b))


def test_monte_carlo_is_never_certain() -> None:
    assert sign_flip(np.ones(40)) == (1 / (relabelling.DRAWS + 1), 1, 1)


def test_the_smallest_p_of_few_pairs() -> None:
    assert sign_flip(np.arange(1.0, 6)) == (2 / 32, -np.inf, np.inf)
    assert sign_flip(np.arange(1.0, 7)) == (2 / 64, 1, 6)
    assert permutation(np.arange(4.0), np.arange(10.0, 14)) == (2 / 70, 7, 13)


def test_no_spread_is_certainty_and_no_difference_is_none() -> None:
    same, apart = np.full(8, 1.0), np.full(8, 2.0)
    assert (paired(same, same).p_t, paired(same, same).p, paired(same, same).p_equal(0.1)) == (1.0, 1.0, 0.0)
    assert (paired(same, apart).p_t, paired(same, apart).p) == (0.0, 2 / 256)
    assert (paired(same, apart).low, paired(same, apart).high) == (1.0, 1.0)
    assert paired(same, apart).p_equal(0.1) == 1.0
    assert (unpaired(same, same).p_t, unpaired(same, apart).p_t) == (1.0, 0.0)


def test_of_a_single_run_nothing_is_known() -> None:
    for item in (paired(np.array([1.0]), np.array([2.0])), unpaired(np.array([1.0]), np.array([2.0]))):
        assert item.value == 1
        assert (item.low, item.high) == (-np.inf, np.inf)
        assert (item.p, item.p_t, item.p_equal(9)) == (1.0, 1.0, 1.0)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    for item, of_holm in zip(p, adjusted, strict=True):
        assert min(1.0, item) <= of_holm <= min(1.0, len(p) * item)
    ranked = [of_holm for _, of_holm in sorted(zip(p, adjusted, strict=True))]
    assert ranked == sorted(ranked)
