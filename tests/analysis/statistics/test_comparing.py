from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis.statistics import Effect, Endpoint, compare

WOBBLE = np.array([0.4, -0.2, 0.9, -1.1, 0.1, -0.7, 1.3, -0.3, 0.5, -0.9])
"""Mean 0, standard deviation about 0.8."""


def pairs(ratio: float, sd: float, count: int = 10, drift: float = 0.5) -> Endpoint:
    """A drifts by far more than B differs from it, which pairing must not see."""
    a = 10 * np.exp(np.linspace(0, drift, count))
    return Endpoint("all", "p50", a.tolist(), (a * ratio * np.exp(sd * WOBBLE[:count])).tolist())


def only(endpoint: Endpoint, margin: float = 0.02) -> Effect:
    (item,) = compare([endpoint], margin)
    assert item.endpoint is endpoint
    return item.effect


@pytest.mark.parametrize(
    ("ratio", "sd", "verdict"),
    [(1.05, 0.01, "slower"), (0.95, 0.01, "faster"), (1.0, 0.01, "equal"), (1.02, 0.1, "cannot tell")],
)
def test_the_four_verdicts(ratio: float, sd: float, verdict: str) -> None:
    effect = only(pairs(ratio, sd))
    assert effect.verdict == verdict
    assert effect.low < ratio < effect.high
    assert effect.ratio == pytest.approx(ratio)
    assert (effect.needed is None) == (verdict != "cannot tell")
    assert (effect.method, effect.runs) == ("paired", 10)


def test_a_sure_difference_below_the_margin_is_equal() -> None:
    effect = only(pairs(1.005, 0.001))
    assert effect.p_adjusted is not None and effect.p_adjusted < 0.05
    assert effect.verdict == "equal"
    assert only(pairs(1.005, 0.001), margin=0.001).verdict == "slower"


def test_without_pairs_the_drift_is_noise() -> None:
    together = pairs(1.05, 0.01)
    apart = Endpoint("all", "p50", together.a, together.b, paired=False)
    assert only(together).verdict == "slower"
    effect = only(apart)
    assert (effect.verdict, effect.method) == ("cannot tell", "unpaired")
    assert effect.ratio == pytest.approx(only(together).ratio)
    assert effect.sd > 10 * only(together).sd
    assert effect.needed is not None and effect.needed > 50


@pytest.mark.parametrize(
    ("count", "paired", "tells"), [(5, True, False), (6, True, True), (3, False, False), (4, False, True)]
)
def test_too_few_runs_are_refused(count: int, paired: bool, tells: bool) -> None:
    item = pairs(2.0, 0.001, count, drift=0)
    effect = only(Endpoint("all", "p50", item.a, item.b, paired))
    assert effect.verdict == ("slower" if tells else "cannot tell")
    assert (effect.p_adjusted is None) == (not tells)
    assert (effect.p_equal is None) == (not tells)
    assert effect.needed == (None if tells else 1)


def test_a_single_pair_gives_no_number_of_pairs() -> None:
    effect = only(pairs(1.5, 0.01, 1))
    assert (effect.verdict, effect.needed, effect.low, effect.high) == ("cannot tell", None, 0.0, float("inf"))
    assert effect.ratio == pytest.approx(1.5 * np.exp(0.01 * WOBBLE[0]))


def test_many_endpoints_need_more_evidence_than_one() -> None:
    clear, quiet = pairs(1.03, 0.03), pairs(1.0, 0.03)
    alone = only(clear)
    family = compare([clear, *[quiet] * 19], 0.001)[0].effect
    assert family.p == alone.p < 0.05
    assert family.p_adjusted == pytest.approx(20 * alone.p)
    assert (alone.verdict, family.verdict) == ("slower", "cannot tell")
    assert (family.low, family.high) == (alone.low, alone.high)


def test_an_endpoint_with_too_few_runs_takes_no_part_in_the_family() -> None:
    good, few = pairs(1.02, 0.01), pairs(1.02, 0.01, 5)
    with_few = compare([few, good, few], 0.001)[1].effect
    assert with_few == only(good, 0.001)


def test_pairs_too_few_to_test_need_as_many_as_their_whole_family_takes() -> None:
    few = pairs(2.0, 0.01, 4)
    assert only(few).needed == 2
    assert [item.effect.needed for item in compare([few, few], 0.001)] == [3, 3]


def test_ten_pairs_cannot_bear_forty_tests_and_say_how_many_can() -> None:
    family = compare([pairs(2.0, 0.01)] * 40, 0.001)
    assert {item.effect.verdict for item in family} == {"cannot tell"}
    # 40 x 2 / 2^10 is 8 %; one pair more makes it 4 %.
    assert {item.effect.needed for item in family} == {1}


def test_the_pairs_that_are_needed_grow_with_the_family() -> None:
    doubtful = pairs(1.02, 0.1)
    alone, among_many = only(doubtful).needed, compare([doubtful] * 8, 0.02)[0].effect.needed
    assert alone is not None and among_many is not None
    assert among_many > 1.5 * alone


def test_needed_pairs_give_the_verdict_when_the_rest_stays_as_it_is() -> None:
    seen = pairs(1.02, 0.1)
    effect = only(seen)
    assert effect.needed is not None
    times = -(-(effect.needed + 10) // 10)
    more = Endpoint("all", "p50", list(seen.a) * times, list(seen.b) * times)
    assert only(more).verdict != "cannot tell"


positive = st.floats(0.01, 1000)
endpoints = st.lists(st.tuples(positive, positive), min_size=2, max_size=10)


@settings(max_examples=40, deadline=None)
@given(endpoints, st.booleans(), st.sampled_from([1e-3, 1000.0]))
def test_the_unit_does_not_matter(values: list[tuple[float, float]], paired: bool, unit: float) -> None:
    a, b = np.array(values).T
    first, second = only(Endpoint("x", "p50", a, b, paired)), only(Endpoint("x", "p50", unit * a, unit * b, paired))
    assert second.ratio == pytest.approx(first.ratio)
    assert (second.verdict, second.runs, second.p) == (first.verdict, first.runs, pytest.approx(first.p))


@settings(max_examples=40, deadline=None)
@given(endpoints, st.booleans())
def test_exchanging_the_sides_inverts_the_ratio(values: list[tuple[float, float]], paired: bool) -> None:
    a, b = np.array(values).T
    there, back = only(Endpoint("x", "p50", a, b, paired)), only(Endpoint("x", "p50", b, a, paired))
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert 1 / back.high == pytest.approx(there.low)
    assert back.p == pytest.approx(there.p)
    opposite = {"slower": "faster", "faster": "slower"}
    assert back.verdict == opposite.get(there.verdict, there.verdict)


@pytest.mark.parametrize(
    ("a", "b", "complaint"),
    [
        ([1.0, 2.0], [1.0], "p50 of all: 2 runs of A and 1 of B are no pairs"),
        ([], [], "p50 of all: A has no run"),
        ([1.0], [0.0], "p50 of all: 0.0 of B is not a positive number; leave such a run out"),
        ([float("nan")], [1.0], "nan of A"),
    ],
)
def test_what_is_no_endpoint_is_refused(a: list[float], b: list[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Endpoint("all", "p50", a, b)


@pytest.mark.parametrize(("margin", "alpha", "complaint"), [(0.0, 0.05, "margin 0.0"), (0.02, 1.0, "alpha 1.0")])
def test_a_senseless_margin_or_level_is_refused(margin: float, alpha: float, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        compare([pairs(1.0, 0.01)], margin, alpha)
