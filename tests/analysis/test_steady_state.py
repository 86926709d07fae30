from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from loadstone.analysis.steady_state import batch_slope, change_points, mser5, steady_state


def noise(count: int, seed: int = 0, correlation: float = 0.3, spread: float = 5.0) -> NDArray[np.float64]:
    """Correlated noise around 100."""
    rng = np.random.default_rng(seed)
    values = np.empty(count)
    values[0] = rng.normal()
    for i in range(1, count):
        values[i] = correlation * values[i - 1] + np.sqrt(1 - correlation**2) * rng.normal()
    return 100 + spread * values


@pytest.mark.parametrize("count", [30, 60, 300])
def test_steady_runs_are_seldom_called_unsteady(count: int) -> None:
    wrong = [s for seed in range(100) if not (s := steady_state(noise(count, seed))).stationary]
    assert len(wrong) <= 5, [s.reason for s in wrong]


@pytest.mark.parametrize("seed", range(5))
def test_a_warm_up_is_cut_and_the_rest_is_steady(seed: int) -> None:
    series = noise(120, seed) + 200 * np.exp(-np.arange(120) / 6)
    result = steady_state(series)
    assert result.stationary
    assert 10 <= result.cut <= 55
    assert abs(series[result.cut :].mean() - 100) < 4


def test_a_warm_up_that_does_not_end_is_not_steady() -> None:
    result = steady_state(noise(60) + 300 * np.exp(-np.arange(60) / 40))
    assert result.stationary is False
    assert "falls by" in result.reason


@pytest.mark.parametrize(("rate", "word"), [(+60, "rises"), (-60, "falls")])
def test_a_drift_is_seen(rate: float, word: str) -> None:
    result = steady_state(noise(120) + rate * np.linspace(0, 1, 120))
    assert result.stationary is False
    assert word in result.reason
    assert result.drift is not None and np.sign(result.drift) == np.sign(rate)


def test_a_level_that_jumps_and_comes_back_is_seen() -> None:
    series = noise(120)
    series[50:80] += 60
    result = steady_state(series)
    assert result.stationary is False
    assert "level changes" in result.reason
    assert [abs(at - wanted) <= 2 for at, wanted in zip(result.changes, (50, 80), strict=True)] == [True, True]


def test_what_does_not_matter_is_steady_however_significant() -> None:
    """A drift of 2 % with hardly any noise is significant, and of no consequence."""
    series = 100 + np.linspace(0, 2, 120) + 0.01 * noise(120)
    assert batch_slope(series)[1] < 1e-6
    assert steady_state(series).stationary


def test_too_short_is_neither() -> None:
    result = steady_state([1.0] * 19)
    assert result.stationary is None
    assert "19 observations" in result.reason


def test_constant_series_are_steady() -> None:
    assert steady_state([5.0] * 40).stationary
    assert steady_state([0.0] * 40).stationary


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        steady_state([1.0] * 30 + [float("nan")])


@given(st.lists(st.floats(0, 1000), min_size=10, max_size=60))
@settings(max_examples=60, deadline=None)
def test_mser5_is_the_minimum_of_its_definition(values: list[float]) -> None:
    batches = [float(np.mean(values[i : i + 5])) for i in range(0, len(values) - 4, 5)]
    score = {d: float(np.var(batches[d:])) / (len(batches) - d) for d in range(len(batches) // 2 + 1)}
    cut = mser5(np.array(values))
    assert cut % 5 == 0
    assert score[cut // 5] == pytest.approx(min(score.values()))


@given(st.lists(st.floats(0, 1e6), max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_series_gets_a_verdict(values: list[float]) -> None:
    result = steady_state(values)
    assert result.reason
    assert 0 <= result.cut <= len(values) // 2
    assert all(result.cut < at < len(values) for at in result.changes)
    assert not (result.stationary and result.changes)


def test_change_points_of_a_clean_step() -> None:
    assert change_points(np.r_[noise(40, 1), noise(40, 2) + 80]) == [40]
