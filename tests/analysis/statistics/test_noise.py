from __future__ import annotations

import numpy as np
import pytest

from loadstone.analysis.statistics import Endpoint, adjacent, detectable, floors
from loadstone.analysis.statistics.noise import Floor


def duplicates(count: int, sd: float, seed: int = 0, drift: float = 0.0) -> Endpoint:
    rng = np.random.default_rng(seed)
    shared = np.linspace(0, drift, count)
    a, again = np.exp(shared + rng.normal(0, sd, (2, count)))
    return Endpoint("all", "p99", a.tolist(), again.tolist())


def floor(endpoint: Endpoint, pairs: int = 10) -> Floor:
    (one,) = floors([endpoint], margin=0.02, pairs=pairs)
    return one


def test_the_limit_is_that_of_the_pairs_planned() -> None:
    few, many = floor(duplicates(10, 0.02), 10), floor(duplicates(10, 0.02), 30)
    assert few.detects == detectable(few.sd, 10)
    assert many.detects == detectable(few.sd, 30) < few.detects
    assert few.sd == few.comparison.effect.sd


def test_the_intervals_of_the_spread_cover_it() -> None:
    sd = 0.02 * np.sqrt(2)
    inside = [one.sd_low < sd < one.sd_high for seed in range(100) if (one := floor(duplicates(10, 0.02, seed)))]
    assert 89 <= sum(inside) <= 99
    one = floor(duplicates(10, 0.02))
    assert one.detects_low < one.detects < one.detects_high
    assert one.detects_high == detectable(one.sd_high, 10)


def test_many_endpoints_raise_the_limit() -> None:
    one = duplicates(10, 0.02)
    assert floors([one] * 8, 0.02, 10)[0].detects > floor(one).detects
    assert floors([one] * 40, 0.02, 10)[0].detects == float("inf")


def test_neighbours_are_paired_and_every_second_pair_is_turned() -> None:
    one = adjacent("home", "p50", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert one is not None
    assert (one.name, one.statistic, one.paired) == ("home", "p50", True)
    assert (one.a, one.b) == ([1.0, 4.0, 5.0], [2.0, 3.0, 6.0])


def test_a_steady_drift_cancels_between_neighbours() -> None:
    one = adjacent("all", "p50", np.exp(0.01 * np.arange(12)).tolist())
    assert one is not None
    assert floor(one).comparison.effect.ratio == pytest.approx(1)


def test_too_few_runs_have_no_neighbours() -> None:
    assert adjacent("all", "p50", [1.0, 2.0, 3.0]) is None
    assert adjacent("all", "p50", [1.0, 2.0, 3.0, 4.0]) is not None


def test_of_one_pair_nothing_is_known() -> None:
    one = floor(Endpoint("all", "p50", [1.0], [1.1]))
    assert np.isnan(one.sd)
    assert (one.detects, one.detects_high, one.sd_high) == (float("inf"),) * 3
