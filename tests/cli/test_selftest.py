"""What loadstone doctor --driver says."""

from __future__ import annotations

from loadstone.cli.selftest import Arrivals, sentences
from loadstone.workloads.selftest import SelfTestRow


def row(rate: float, *faults: str) -> SelfTestRow:
    return SelfTestRow(rate, None, None, None, None, None, faults)


def arrivals(distance: float = 0.01, **dispersion: float) -> Arrivals:
    return Arrivals(2000.0, distance, {"10 ms": 1.0} | dispersion)


def test_the_limit_that_was_found() -> None:
    first, budget, poisson = sentences([row(500), row(1000, "late")], 500.0, arrivals())
    assert first.startswith("Results are reliable up to about 500 req/s with one load thread: ")
    assert "latency objective of 10 ms" in budget
    assert "2,000 req/s, by the server's clock: as expected (KS distance 0.010" in poisson


def test_the_limit_is_not_more_exact_than_its_test() -> None:
    assert "up to about 3,600 req/s with" in sentences([row(3668), row(4000, "late")], 3668.0, arrivals())[0]


def test_no_limit_was_found() -> None:
    assert "250,000 req/s and more (no higher rate was tried)" in sentences([row(256_000)], 256_000.0, arrivals())[0]


def test_clumps_and_wrong_gaps_are_reported() -> None:
    for wrong in (arrivals(0.2), arrivals(**{"1 ms": 1.3})):
        assert "NOT as expected" in sentences([row(500)], 500.0, wrong)[-1]


def test_no_rate_is_reliable() -> None:
    assert sentences([row(500, "late")], 0.0, None) == []
