"""Ratios of breaking points."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.comparison import capacities
from loadstone.analysis.posterior import Posterior, posterior
from loadstone.analysis.trial_outcome import TrialOutcome


def searched(point: float, trials: int = 12) -> Posterior:
    loads = [point * (0.9 + 0.2 * place / (trials - 1)) for place in range(trials)]
    return posterior([TrialOutcome(load, load < point) for load in loads])


@settings(max_examples=15, deadline=None)
@given(st.floats(50, 5000), st.floats(0.2, 5))
def test_a_ratio_is_found_and_turned_around_is_its_inverse(point: float, times: float) -> None:
    a, b = searched(point), searched(point * times)
    found, turned = capacities.ratio(a, b), capacities.ratio(b, a)
    assert found.low < times < found.high
    assert found.value == pytest.approx(times, rel=0.02)
    assert (turned.low, turned.value, turned.high) == pytest.approx(
        (1 / found.high, 1 / found.value, 1 / found.low), rel=1e-3
    )


def test_a_ratio_is_less_certain_than_either_point() -> None:
    a = searched(1000.0)
    assert capacities.ratio(a, a).precision > bp.breaking_point(a).precision


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.01, 1.2, "higher"),
        (0.8, 0.97, "lower"),
        (0.99, 1.015, "equal"),
        (1.001, 1.015, "equal"),
        (0.95, 1.3, "cannot tell"),
    ],
)
def test_the_verdict_is_equal_first(low: float, high: float, text: str) -> None:
    assert capacities.verdict(bp.Estimate((low + high) / 2, low, high), 0.02) == text
