from __future__ import annotations

import numpy as np
import pytest

from loadstone.analysis.percentiles import of_counted
from loadstone.analysis.statistics.differences import paired, unpaired
from loadstone.analysis.statistics.merging import Sample, distances, pool, sample
from loadstone.analysis.statistics.shape import shape


def runs(count: int, size: int, seed: int, shift: float = 0.0, tail: float = 0.0) -> list[Sample]:
    rng = np.random.default_rng(seed)
    made = []
    for level in rng.normal(0, 0.02, count):
        values = np.exp(level + rng.normal(0, 0.3, size)) + shift
        values[: size // 50] += tail
        made.append(sample(values))
    return made


def test_distances_are_those_of_the_pooled_runs() -> None:
    a, b = runs(3, 500, 1), runs(3, 500, 2, shift=0.1)
    found = shape(a, b)
    assert [found.ks, found.ad, found.cvm, found.wasserstein] == distances([pool(a), pool(b)], [(0, 1)])[0].tolist()
    assert found.wasserstein == pytest.approx(0.1, abs=0.03)


def test_a_change_of_the_tail_alone_shows_at_the_high_percentiles_alone() -> None:
    found = {
        shift.percentile: shift for shift in shape(runs(8, 4000, 1), runs(8, 4000, 2, tail=5), in_blocks=False).shifts
    }
    assert found[99].low > 1
    assert abs(found[50].shift) < 0.1
    assert found[50].low < 0.02


@pytest.mark.parametrize("in_blocks", [True, False])
def test_intervals_are_from_run_to_run(in_blocks: bool) -> None:
    a, b = runs(6, 1000, 1), runs(6, 1000, 2, shift=0.2)
    (median,) = [shift for shift in shape(a, b, in_blocks).shifts if shift.percentile == 50]
    of_a, of_b = ([float(of_counted(item.values, item.counts, [50])[0]) for item in side] for side in (a, b))
    expected = paired(np.array(of_a), np.array(of_b)) if in_blocks else unpaired(np.array(of_a), np.array(of_b))
    assert (median.low, median.high) == (expected.low, expected.high)
    assert median.shift == pytest.approx(np.mean(of_b) - np.mean(of_a)) == pytest.approx(median.b - median.a)


def test_histograms_are_welcome() -> None:
    a, b = sample([1.0, 2.0], [90, 10]), sample([1.0, 2.0], [40, 60])
    found = shape([a, a], [b, b])
    assert found.ks == 0.5
    assert [(shift.percentile, shift.shift) for shift in found.shifts if shift.shift] == [
        (50, 1.0),
        (75, 1.0),
        (90, 1.0),
    ]


def test_percentiles_that_rest_on_a_few_requests_are_left_out() -> None:
    few = [shift.percentile for shift in shape(runs(2, 100, 1), runs(2, 1000, 2)).shifts]
    assert few == [10, 25, 50, 75, 90]
    assert 99.9 in [shift.percentile for shift in shape(runs(2, 10_000, 1), runs(2, 10_000, 2)).shifts]


def test_a_single_run_has_no_interval() -> None:
    for in_blocks in (True, False):
        item = shape(runs(1, 100, 1), runs(1, 100, 2), in_blocks).shifts[0]
        assert (item.low, item.high) == (-np.inf, np.inf)


def test_sides_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 runs of A and 1 of B are no blocks"):
        shape(runs(2, 100, 1), runs(1, 100, 2))
    with pytest.raises(ValueError, match="a side has no run"):
        shape([], runs(1, 100, 2))
