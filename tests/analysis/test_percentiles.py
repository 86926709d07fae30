"""Percentiles are those of the sorted values, wherever they are taken."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from loadstone.analysis import percentiles
from loadstone.analysis.run import hlog

PERCENTS = [
    "0",
    "0.001",
    "1",
    "2.5",
    "33.3",
    "50",
    "58",
    "75",
    "90",
    "95",
    "97",
    "99",
    "99.9",
    "99.99",
    "99.999",
    "100",
]


def rank(percent: str, size: int) -> int:
    """The smallest place k of which 100 k / size is at least the percentile, in exact arithmetic."""
    return max(1, math.ceil(Fraction(percent) * size / 100))


@pytest.mark.parametrize("percent", PERCENTS)
@given(size=st.integers(1, 2**32))
def test_ranks_are_exact(percent: str, size: int) -> None:
    assert percentiles.ranks([float(percent)], size).tolist() == [rank(percent, size)]


@given(st.lists(st.integers(1, 7_000_000_000), min_size=1, max_size=2000))
def test_percentiles_are_those_of_the_sorted_values(values: list[int]) -> None:
    ascending, percents = sorted(values), [float(percent) for percent in PERCENTS]
    want = [ascending[rank(percent, len(values)) - 1] for percent in PERCENTS]
    assert percentiles.of_sorted(ascending, percents).tolist() == want
    distinct, counts = np.unique(values, return_counts=True)
    assert percentiles.of_counted(distinct, counts, percents).tolist() == want


@given(st.lists(st.floats(0.001, 100_000), min_size=1, max_size=1000))
def test_percentiles_over_time_are_those_of_the_sorted_values(latencies: list[float]) -> None:
    histogram = HdrHistogram(1000, 7_200_000_000_000, 3)
    ascending = sorted(int(value * 1e6) for value in latencies)
    for value in ascending:
        histogram.record_value(value)
    found = hlog._interval(0.0, 1.0, histogram)
    assert found is not None and found.count == len(latencies)
    for percent, ms in (("50", found.p50_ms), ("99", found.p99_ms)):
        exact = ascending[rank(percent, len(latencies)) - 1]
        assert ms == histogram.get_highest_equivalent_value(exact) / 1e6


def test_the_p99_of_983_requests_is_the_974th() -> None:
    histogram = HdrHistogram(1000, 7_200_000_000_000, 3)
    for place in range(983):
        histogram.record_value((place + 1) * 10_000_000)
    found = hlog._interval(0.0, 1.0, histogram)
    assert found is not None and found.p99_ms == pytest.approx(9740, rel=1e-3)
