from __future__ import annotations

import math

import pytest

from loadstone.analysis.statistics.mean import arithmetic, mean

REACH = 4.302652729911275 / 3**0.5
"""Student's t of two degrees of freedom, over the root of three runs."""


def test_an_interval_is_students() -> None:
    found = arithmetic([1.0, 2.0, 3.0])
    assert found == (2.0, pytest.approx(2 - REACH), pytest.approx(2 + REACH))
    assert found.ends == (found.low, found.high)


def test_the_geometric_mean_is_that_of_logarithms() -> None:
    found = mean([math.exp(1), math.exp(2), math.exp(3)])
    assert found == pytest.approx([math.exp(part) for part in (2.0, 2 - REACH, 2 + REACH)])


def test_a_single_run_has_no_interval() -> None:
    assert mean([5.0]) == (pytest.approx(5.0), 0.0, math.inf)
    assert mean([5.0]).ends == arithmetic([5.0]).ends == (None, None)


def test_without_a_run_there_is_no_mean() -> None:
    for of in (mean, arithmetic):
        with pytest.raises(ValueError, match="no run"):
            of([])
