"""A gate fails only where the whole interval lies on the wrong side of its limit."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.analysis.comparison import Compared
from loadstone.analysis.comparison.capacities import Unestimated
from loadstone.analysis.comparison.tables import CapacityRow
from loadstone.analysis.comparison.unmeasured import Unmeasured
from loadstone.analysis.gate import Limit, answer, parse, regressions
from loadstone.model.errors import InputError
from tests.trial_rows import effect_row


@pytest.mark.parametrize(
    ("low", "high", "is_least", "expected"),
    [
        (1200, 1300, True, "passed"),
        (1000, 1199, True, "failed"),
        (1100, 1200, True, "cannot tell"),
        (0, float("inf"), True, "cannot tell"),
        (1000, 1200, False, "passed"),
        (1201, 1300, False, "failed"),
        (1200, 1300, False, "cannot tell"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, is_least: bool, expected: str) -> None:
    assert answer(low, high, 1200, is_least) == expected


def test_a_limit_is_read() -> None:
    assert parse("capacity >= 1200") == Limit("capacity", 1200)
    assert parse("breaking-point>=99.5") == Limit("breaking point", 99.5)


@pytest.mark.parametrize("text", ["capacity", "capacity <= 1200", "capacity >= 0", "p99 >= 3", "capacity >= 1k", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--gate .*: expected 'capacity >= 1200' or 'breaking-point >= 1200'"):
        parse(text)


def capacity_row(low: float, high: float) -> CapacityRow:
    numbers: dict[str, Any] = dict.fromkeys(("a", "a_low", "a_high", "b", "b_low", "b_high", "ratio"), 1.0)
    return CapacityRow(baseline="a", treatment="b", low=low, high=high, margin=0.02, verdict="cannot tell", **numbers)


def test_a_regression_is_certain_or_it_is_none() -> None:
    found = Compared(
        "a",
        0.02,
        "unpaired",
        effects=[
            effect_row(low=1.06, high=1.20, verdict="slower", needed=None),
            effect_row(low=1.04, high=1.20, verdict="slower", needed=None),
            effect_row(low=1.06, high=1.20, verdict="cannot tell", needed=None),
            effect_row(low=0.90, high=1.05, verdict="cannot tell", statistic="p99", needed=None),
            effect_row(low=2, high=3, verdict="slower", scope="operations", needed=None),
        ],
        capacities=[capacity_row(0.80, 0.94), capacity_row(0.94, 0.96), capacity_row(0.95, 1.2)],
    )
    expected = [("breaking point", answer) for answer in ("failed", "cannot tell", "passed")]
    expected += [("p50", "failed"), ("p50", "cannot tell"), ("p50", "cannot tell"), ("p99", "passed")]
    assert [(row.quantity, row.answer) for row in regressions(found, 0.05)] == expected


@pytest.mark.parametrize(
    ("least", "broke", "expected"),
    [
        (1000.0, (950.0, 500.0, 300.0), "failed"),
        (1000.0, (960.0, 500.0, 300.0), "cannot tell"),
        (1000.0, (), "cannot tell"),
        (None, (10.0, 5.0, 3.0), "cannot tell"),
    ],
)
def test_a_build_in_which_nothing_held_fails_below_the_baseline_alone(
    least: float | None, broke: tuple[float, ...], expected: str
) -> None:
    found = Compared("a", 0.02, "unpaired", unestimated=[Unestimated("a", "b", least, broke, "")])
    (row,) = regressions(found, 0.05)
    assert (row.quantity, row.value, row.answer) == ("breaking point", None, expected)


@pytest.mark.parametrize(
    ("exceeds", "expected"),
    [((106.0, 200.0, 200.0), "failed"), ((104.0, 200.0, 200.0), "cannot tell"), ((200.0, 200.0), "cannot tell")],
)
def test_a_latency_that_a_build_no_longer_has_fails_by_what_it_exceeds_whatever_the_others_say(
    exceeds: tuple[float, ...], expected: str
) -> None:
    lost = Unmeasured("a", "b", 1.0, "p99", 100.0, exceeds)
    of_others = effect_row(low=0.9, high=1.01, verdict="equal", statistic="p99", needed=None)
    (row,) = regressions(Compared("a", 0.02, "paired", effects=[of_others], unmeasured=[lost]), 0.05)
    assert (row.quantity, row.load, row.value, row.answer) == ("p99", 1.0, None, expected)
