from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.statistics.stopping import precision


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=30))
def test_precision_is_half_the_interval_of_the_geometric_mean(values: list[float]) -> None:
    logarithms = np.log(values)
    reach = stats.t(len(values) - 1).ppf(0.975) * stats.sem(logarithms)
    assert precision(values) == pytest.approx(np.exp(reach) - 1, rel=1e-9, abs=1e-9)


def test_fewer_than_two_runs_are_known_to_nothing() -> None:
    assert precision([]) == precision([3.0]) == float("inf")
    assert precision([3.0, 3.0]) == 0


def test_the_unit_does_not_matter() -> None:
    assert precision([1.0, 1.1, 0.9]) == pytest.approx(precision([1000.0, 1100.0, 900.0]))
