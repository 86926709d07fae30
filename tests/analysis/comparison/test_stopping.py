from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loadstone.analysis.comparison import Rule, look
from loadstone.analysis.comparison.stopping import precision


def runs(count: int, spread: float) -> list[float]:
    """Positive values whose logarithms alternate, so that the spread hardly depends on their number."""
    return [float(np.exp(spread * (-1) ** i)) for i in range(count)]


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=30))
def test_precision_is_half_the_interval_of_the_geometric_mean(values: list[float]) -> None:
    logarithms = np.log(values)
    high = logarithms.mean() + stats.t(len(values) - 1).ppf(0.975) * stats.sem(logarithms)
    assert precision(values) == pytest.approx(np.exp(high - logarithms.mean()) - 1, rel=1e-9, abs=1e-9)


def test_looks_are_at_ten_and_every_five_from_then_on() -> None:
    decided = [
        count for count in range(1, 31) if look({"p50": runs(count, 0), "p99": runs(count, 0)}).decision != "go on"
    ]
    assert decided == [10, 15, 20, 25, 30]


@pytest.mark.parametrize(
    ("of_p50", "of_p99", "count"), [(0.02, 0.05, 10), (0.032, 0.05, 15), (0.02, 0.09, 20), (0.02, 0.115, 25)]
)
def test_the_first_look_that_is_precise_enough_ends_it(of_p50: float, of_p99: float, count: int) -> None:
    done = [n for n in range(1, 31) if look({"p50": runs(n, of_p50), "p99": runs(n, of_p99)}).decision == "reached"]
    assert done[0] == count


@pytest.mark.parametrize("noisy", ["p50", "p99"])
def test_not_reached_is_a_result(noisy: str) -> None:
    def at(count: int) -> str:
        return look({name: runs(count, 0.5 if name == noisy else 0.001) for name in ("p50", "p99")}).decision

    assert {at(count) for count in range(1, 30)} == {"go on"}
    assert at(30) == at(31) == "not reached"


def test_a_look_says_what_was_reached() -> None:
    one = look({"p50": [1.0], "p99": [2.0]})
    assert (one.decision, one.runs) == ("go on", 1)
    assert one.precision == {"p50": float("inf"), "p99": float("inf")}
    two = look({"p50": runs(12, 0.1), "p99": runs(12, 0.2)})
    assert two.precision == {"p50": precision(runs(12, 0.1)), "p99": precision(runs(12, 0.2))}


def test_another_rule_is_another_rule() -> None:
    rule = Rule({"p50": 0.5}, least=3, most=4, every=1)
    assert look({"p50": runs(3, 0.1)}, rule).decision == "reached"
    assert look({"p50": runs(3, 2)}, rule).decision == "go on"
    assert look({"p50": runs(4, 2)}, rule).decision == "not reached"
    with pytest.raises(KeyError):
        look({"p99": [1.0]}, rule)
