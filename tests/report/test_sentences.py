"""What a run came to, in words that hold for all of its treatments and trials."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.report import overview, sentences
from loadstone.report.content import gather
from tests.synthetic import Synthetic


def test_the_range_of_capacities_says_how_many_treatments_are_not_in_it(tmp_path: Path) -> None:
    synthetic = Synthetic(capacities={"baseline": 700.0, "vertical": 1250.0, "horizontal": 2000.0})
    synthetic.stop_before = ("horizontal", "fine")
    text = sentences.answer(gather(synthetic.write(tmp_path)))
    assert "(scaling=baseline) to " in text and text.endswith("(scaling=vertical); 1 other treatment has no estimate.")


def test_the_answer_of_one_of_several_treatments_names_it(tmp_path: Path) -> None:
    synthetic = Synthetic(capacities={"baseline": 700.0, "vertical": 1250.0}, stop_after=3)
    text = sentences.answer(gather(synthetic.write(tmp_path)))
    assert text.startswith("hotel-reservation with scaling=baseline held P99 ≤ 200 ms in every trial")


@pytest.mark.parametrize(
    ("rates", "invalid", "expected"),
    [
        ([100, 200, 400], (3,), "held {} in all of 2 trials, up to **200 req/s**, the highest rate with a valid"),
        ([100, 3000], (1,), "did not hold {} even at the lowest rate with a valid trial: at 3,000 req/s 1 of 1 trial"),
        ([100, 200, 400], (1,), "held {} in all of 2 trials, up to **400 req/s**, the highest rate tried."),
    ],
)
def test_a_rate_whose_trials_are_invalid_was_tried(
    rates: list[float], invalid: tuple[int, ...], expected: str, tmp_path: Path
) -> None:
    content = gather(Synthetic(rates=rates, invalid=invalid).write(tmp_path))
    found = sentences.finding(content, content.treatments[0])
    assert found.startswith(expected.format("P99 ≤ 200 ms"))
    if found.startswith("held"):
        assert overview.rows(content)[0].next == "none found"


def test_an_estimate_of_the_usual_state_says_when_the_state_was_another(tmp_path: Path) -> None:
    """Else a reader takes it that 95 % of all trials hold at the capacity."""
    text = sentences.answer(gather(Synthetic(slow=(14, 25, 0.65)).write(tmp_path)))
    apart = "; of its usual state: in trials 15 to 25 the system sustained about 33 % less than usual)"
    assert f"from 33 trials{apart}. Fresh trials confirm" in text


def test_where_the_machine_was_seen_to_change_the_estimate_is_of_the_usual_one(tmp_path: Path) -> None:
    """What the reference loop explains is no episode, and the search need not go on for it."""
    content = gather(Synthetic(slow=(8, 13, 0.65), seen=True).write(tmp_path))
    text = sentences.answer(content)
    assert "95 % of trials hold P99 ≤ 200 ms there while the machine is as it usually was." in text
    assert "of its usual state" not in text
    (warning,) = [each for each in sentences.warnings(content) if each.startswith("the machine's speed differed")]
    assert re.search(
        r"the system sustained from [23]\d% less to \d% more than usual; capacity and breaking point", warning
    )
    (treatment,) = content.treatments
    assert treatment.searched is not None and treatment.searched.result is not None
    assert [row.order for row in treatment.trials if treatment.searched.unusual(row)] == list(range(8, 14))
    assert treatment.searched.result.follows is not None
    assert treatment.searched.result.follows > 0.5
    assert treatment.searched.result.breaking_point.value == pytest.approx(1300, rel=0.06)
