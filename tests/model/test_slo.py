"""The service-level objective."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.slo import Slo

PERCENTILES = [*(f"p{n}" for n in range(1, 100)), "p999", "p9999", "p99999", "p995"]


def test_percentiles_are_in_milliseconds() -> None:
    slo = Slo.model_validate({"p50": "20ms", "p999": "1s", "completed": "99.5%"})
    assert slo.limits == {50.0: 20.0, 99.9: 1000.0}
    assert slo.completed == pytest.approx(0.995)


def test_one_in_a_hundred_may_fail_by_default() -> None:
    assert Slo.model_validate({"p99": "200ms"}).completed == 0.99


def test_the_strictest_is_the_highest_percentile() -> None:
    assert Slo.model_validate({"p99": "200ms", "p50": "250ms", "p95": "100ms"}).strictest == (99.0, 200.0)


def test_it_reads_as_a_sentence() -> None:
    slo = Slo.model_validate({"p99": "200ms", "p50": "20ms", "completed": "99.9%"})
    assert str(slo) == "P50 <= 20ms, P99 <= 200ms, 99.9 % completed"


@given(
    st.dictionaries(st.sampled_from(PERCENTILES), st.integers(1, 10**7), min_size=1, max_size=5),
    st.integers(1, 100_000),
)
def test_an_slo_survives_writing_and_reading(limits: dict[str, int], completed: int) -> None:
    slo = Slo(
        limits={float(key[1:3] + "." + (key[3:] or "0")): us / 1000 for key, us in limits.items()},
        completed=completed / 100_000,
    )
    again = Slo.model_validate(slo.model_dump(mode="json"))
    assert again.limits.keys() == slo.limits.keys()
    assert again.limits == pytest.approx(slo.limits)
    assert again.completed == pytest.approx(slo.completed)
