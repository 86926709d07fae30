"""Margins of summaries as drivers write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.experiments.margin import FARTHEST, margin, of_held, of_stopped, of_violations
from loadstone.model.records import TrialSummary
from loadstone.model.slo import Slo

SLO = Slo(limits={99.0: 200.0})


def summary(p99: float = 100.0, violations: int = 0, at_s: float | None = None) -> TrialSummary:
    percentiles = {95.0: p99 / 4, 99.0: p99}
    aborted = None if at_s is None else SimpleNamespace(at_s=at_s)
    stand_in = SimpleNamespace(
        wanted=1000.0, violations=violations, aborted=aborted, percentile_ms=lambda at: percentiles[at]
    )
    return cast(TrialSummary, stand_in)


def test_a_trial_at_half_of_the_limit_has_the_margin_1() -> None:
    assert margin(summary(100.0), SLO, "held", 30) == pytest.approx(1)
    assert margin(summary(200.0), SLO, "held", 30) == 0


def test_of_several_limits_the_one_that_is_nearest_counts() -> None:
    assert margin(summary(100.0), Slo(limits={99.0: 200.0, 95.0: 30.0}), "held", 30) == pytest.approx(0.2)


def test_a_trial_that_broke_has_the_rate_of_its_violations() -> None:
    assert margin(summary(300.0, violations=30), SLO, "not held", 30) == pytest.approx(-2)
    assert margin(summary(at_s=3.2), SLO, "not held", 30) == pytest.approx(-9)


@pytest.mark.parametrize(("slo", "verdict"), [(None, "held"), (SLO, "invalid"), (SLO, "measured")])
def test_what_was_not_judged_has_none(slo: Slo | None, verdict: Any) -> None:
    assert margin(summary(), slo, verdict, 30) is None


def test_what_broke_by_something_else_than_latency_has_none() -> None:
    assert margin(summary(50.0, violations=2), SLO, "not held", 30) is None


@given(st.floats(0, 1e12), st.floats(0, 1e4), st.floats(1e-3, 100), st.floats(0.5, 1e4))
def test_margins_are_finite_and_have_the_sign_of_the_verdict(
    ratio: float, at: float, limit: float, window: float
) -> None:
    assert 0 <= of_held(ratio) <= FARTHEST
    assert -FARTHEST <= of_violations(ratio) <= 0
    assert -FARTHEST <= of_stopped(at, limit, window) <= 0


def test_the_sooner_a_trial_broke_the_farther_it_was() -> None:
    margins = [of_stopped(at, 0.2, 30) for at in (0.1, 0.3, 1, 5, 20, 30.2)]
    assert margins == sorted(margins) and margins[-1] == 0
