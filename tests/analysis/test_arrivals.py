"""Distances from a Poisson process, against SciPy and against processes of known dispersion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.arrivals import dispersion, exponential_distance


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=200))
def test_the_distance_is_that_of_kolmogorov_and_smirnov(gaps: list[float]) -> None:
    array = np.array(gaps)
    expected = stats.kstest(array, stats.expon(scale=array.mean()).cdf).statistic
    assert exponential_distance(array) == pytest.approx(expected, abs=1e-9)


def test_a_poisson_process_has_an_index_of_one_and_clumps_have_more() -> None:
    random = np.random.default_rng(1)
    at = np.cumsum(random.exponential(1e-3, 200_000))
    for window in (0.01, 0.1):
        assert dispersion(at, window) == pytest.approx(1, abs=0.1)
    pairs = np.repeat(at, 2)
    assert dispersion(pairs, 0.01) == pytest.approx(2, abs=0.2)
    assert dispersion(np.arange(0, 10, 1e-3) + 5e-4, 0.01) == 0


def test_the_last_window_is_not_counted() -> None:
    assert dispersion(np.array([0.1, 0.2, 1.1, 1.2, 2.1]), 1.0) == 0
