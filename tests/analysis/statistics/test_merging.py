"""One merge against SciPy's four functions, over random and tied values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.statistics.merging import AD, KS, WASSERSTEIN, all_pairs, distances, pool, sample

Values = Sequence[float]

anything = st.floats(-1e6, 1e6, allow_subnormal=False)
tied = st.integers(-4, 4).map(float)
samples = st.one_of(st.lists(anything, min_size=2, max_size=60), st.lists(tied, min_size=2, max_size=60))


def of_scipy(x: Values, y: Values) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about p-values that are capped: none is used
        return [
            stats.ks_2samp(x, y).statistic,
            stats.anderson_ksamp([x, y]).statistic,
            stats.cramervonmises_2samp(x, y, method="asymptotic").statistic,
            stats.wasserstein_distance(x, y),
        ]


def single(x: Values, y: Values) -> list[float]:
    return [float(value) for value in distances([sample(x), sample(y)], [(0, 1)])[0]]


@settings(max_examples=60, deadline=None)
@given(samples, samples)
def test_all_four_are_those_of_scipy(x: list[float], y: list[float]) -> None:
    if len({*x, *y}) < 2:
        return  # SciPy refuses a single value
    assert single(x, y) == pytest.approx(of_scipy(x, y), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("digits", [6, 1])
def test_large_samples_too(digits: int) -> None:
    rng = np.random.default_rng(digits)
    x, y = np.round(rng.lognormal(1, 0.5, 10_000), digits), np.round(rng.lognormal(1.01, 0.5, 7_000), digits)
    assert single(x, y) == pytest.approx(of_scipy(x, y), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(samples, samples)
def test_the_sides_may_be_exchanged(x: list[float], y: list[float]) -> None:
    assert single(x, y) == pytest.approx(single(y, x), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.tuples(tied, st.integers(0, 5)), min_size=1).filter(lambda h: any(count for _, count in h)))
def test_a_histogram_is_its_observations(histogram: list[tuple[float, int]]) -> None:
    values, counts = zip(*histogram, strict=True)
    spelled_out = [value for value, count in histogram for _ in range(count)]
    short, long = sample(values, counts), sample(spelled_out)
    assert short.values.tolist() == long.values.tolist() == sorted(set(spelled_out))
    assert short.counts.tolist() == long.counts.tolist()
    assert short.size == len(spelled_out)


def test_pooling_adds_the_counts() -> None:
    both = pool([sample([1, 2, 2]), sample([2, 3], [4, 1])])
    assert both.values.tolist() == [1, 2, 3]
    assert both.counts.tolist() == [1, 6, 1]


def test_equal_samples_have_no_distance_and_disjoint_ones_the_largest() -> None:
    same = single([1, 2, 3], [1, 2, 3])
    assert (same[KS], same[WASSERSTEIN]) == (0, 0)
    apart = single([1, 2, 3], [11, 12, 13])
    assert (apart[KS], apart[WASSERSTEIN]) == (1, 10)
    assert apart[AD] > same[AD]


def test_every_pair_gets_its_own_row() -> None:
    rng = np.random.default_rng(3)
    runs = [sample(rng.normal(i, 1, 50 + i)) for i in range(7)]
    pairs = all_pairs(len(runs))
    assert len(pairs) == len(set(pairs)) == 21
    rows = distances(runs, pairs)
    for (a, b), row in zip(pairs, rows, strict=True):
        assert row.tolist() == distances([runs[a], runs[b]], [(0, 1)])[0].tolist()


@pytest.mark.parametrize(
    ("values", "counts", "complaint"),
    [
        ([], None, "empty"),
        ([1.0], [0], "empty"),
        ([1.0, float("nan")], None, "not a finite number"),
        ([1.0, 2.0], [1, -1], "negative count"),
    ],
)
def test_what_is_no_sample_is_refused(values: list[float], counts: list[int] | None, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        sample(values, counts)
