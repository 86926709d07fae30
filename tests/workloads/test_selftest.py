"""The self-test of a machine as a load generator: how it climbs, and one real run of each of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.records.summary import TrialSummary
from loadstone.workloads import selftest
from loadstone.workloads.selftest import RateStep, SelfTest, climb, describe
from tests.experiments.fakes import summary


def climbed(clean: dict[float, list[bool]] | float) -> list[RateStep]:
    """Climb a machine that is clean below a rate, or by the list of its attempts at each."""

    def measure(rate: float) -> TrialSummary:
        return TrialSummary.model_validate(summary(rate, 1.0, held=True) | {"offered_rate": rate})

    def faults(measured: TrialSummary) -> list[str]:
        rate = measured.offered_rate or 0.0
        good = rate <= clean if isinstance(clean, float) else clean[rate].pop(0)
        return [] if good else ["late"]

    return list(climb(measure, faults))


def highest(steps: list[RateStep]) -> float:
    return max((step.rate for step in steps if not step.faults), default=0)


@pytest.mark.parametrize("capacity", [500.0, 3_000.0, 47_000.0, 200_000.0])
def test_it_finds_the_highest_clean_rate_from_below(capacity: float) -> None:
    steps = climbed(capacity)
    assert highest(steps) <= capacity < highest(steps) * 1.1
    assert len(steps) <= selftest.MOST_DOUBLINGS + selftest.REFINEMENTS


def test_a_machine_without_limit_ends_the_climb() -> None:
    steps = climbed(1e12)
    assert [step.rate for step in steps] == [500.0 * 2**k for k in range(selftest.MOST_DOUBLINGS)]


def test_nothing_is_clean_on_a_hopeless_machine() -> None:
    assert [step.rate for step in climbed(0.0)] == [500.0, 1000.0]


def test_disturbances_are_forgiven() -> None:
    twice = {500.0: [False, True], 1000.0: [False, False], 2000.0: [True]}
    beyond = {rate: [False, False] for rate in (4000.0, 8000.0, 2828.0, 2378.0, 2181.0)}
    steps = climbed(twice | beyond)
    assert highest(steps) == 2000
    assert [step.rate for step in steps] == [500, 1000, 2000, 4000, 8000, 2828, 2378, 2181]


def test_a_real_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "ARRIVALS_S", 0.5)
    bench = SelfTest((), (), tmp_path)
    with bench.server() as target:
        measured = bench.offer(target, 200.0, 0.5)
    assert measured.counts.completed == (measured.counts.offered or 0) > 50
    row = describe(RateStep(200.0, measured, []))
    assert row.cpu_us_per_request is not None and row.cpu_us_per_request > 0
    assert row.lateness_p50_ms is not None and row.lateness_p99_ms is not None
    assert row.lateness_p50_ms <= row.lateness_p99_ms
    at = bench.arrivals(200.0)
    assert len(at) > 50
    assert at[0] == 0
    assert at == sorted(at)
