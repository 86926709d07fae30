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
    (item,) = floors([endpoint], margin=0.02, pairs=pairs)
    return item


def test_the_limit_is_that_of_the_pairs_planned() -> None:
    few, many = floor(duplicates(10, 0.02), 10), floor(duplicates(10, 0.02), 30)
    assert few.detects == detectable(few.sd, 10)
    assert many.detects == detectable(few.sd, 30) < few.detects
    assert few.sd == few.comparison.effect.sd


def test_the_intervals_of_the_spread_cover_it() -> None:
    sd = 0.02 * np.sqrt(2)
    inside = [item.sd_low < sd < item.sd_high for seed in range(100) if (item := floor(duplicates(10, 0.02, seed)))]
    assert 89 <= sum(inside) <= 99
    item = floor(duplicates(10, 0.02))
    assert item.detects_low < item.detects < item.detects_high
    assert item.detects_high == detectable(item.sd_high, 10)


def test_many_endpoints_raise_the_limit() -> None:
    item = duplicates(10, 0.02)
    assert floors([item] * 8, 0.02, 10)[0].detects > floor(item).detects
    assert floors([item] * 40, 0.02, 10)[0].detects == float("inf")


def test_neighbours_are_paired_and_every_second_pair_is_turned() -> None:
    item = adjacent("home", "p50", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert item is not None
    assert (item.name, item.statistic, item.paired) == ("home", "p50", True)
    assert (item.a, item.b) == ([1.0, 4.0, 5.0], [2.0, 3.0, 6.0])


def test_a_steady_drift_cancels_between_neighbours() -> None:
    item = adjacent("all", "p50", np.exp(0.01 * np.arange(12)).tolist())
    assert item is not None
    assert floor(item).comparison.effect.ratio == pytest.approx(1)


def test_too_few_runs_have_no_neighbours() -> None:
    assert adjacent("all", "p50", [1.0, 2.0, 3.0]) is None
    assert adjacent("all", "p50", [1.0, 2.0, 3.0, 4.0]) is not None


def test_of_one_pair_nothing_is_known() -> None:
    item = floor(Endpoint("all", "p50", [1.0], [1.1]))
    assert np.isnan(item.sd)
    assert (item.detects, item.detects_high, item.sd_high) == (float("inf"),) * 3
