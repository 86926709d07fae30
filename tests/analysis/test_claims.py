"""Claims: confirmed, contradicted, or left open where intervals overlap or are missing."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.analysis import claims, summary
from loadstone.analysis.run import RunFolder, open_run
from loadstone.model.claim import Claim
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    capacities = {"baseline": 400.0, "vertical": 800.0, "horizontal": 402.0}
    return open_run(Synthetic(capacities).write(tmp_path_factory.mktemp("searched")))


@pytest.fixture(scope="module")
def rates(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    slower = {"vertical": 30.0}
    made = Synthetic({"baseline": 900.0, "vertical": 900.0}, rates=[100, 200], repetitions=5, slower_ms=slower)
    return open_run(made.write(tmp_path_factory.mktemp("rates")))


def judged(run: RunFolder, **keys: Any) -> list[claims.ClaimRow]:
    claim = Claim.model_validate({"text": "a", **keys})
    assert list(claim.findings()) == []
    return claims.judge(run, summary.treatments(run), [claim])


@pytest.mark.parametrize(
    ("of", "than", "answer"),
    [
        ("vertical", {"above": {"scaling": "baseline"}}, "confirmed"),
        ("vertical", {"below": {"scaling": "baseline"}}, "contradicted"),
        ("horizontal", {"above": {"scaling": "baseline"}}, "cannot tell"),
        ("vertical", {"between": [600, None]}, "confirmed"),
        ("vertical", {"between": [None, 500]}, "contradicted"),
        ("vertical", {"between": [799.9, 800]}, "cannot tell"),
    ],
)
def test_breaking_points_decide_by_their_intervals(
    searched: RunFolder, of: str, than: dict[str, Any], answer: str
) -> None:
    rows = judged(searched, measure="breaking_point", of={"scaling": of}, **than)
    assert [row.answer for row in rows] == [answer]
    assert claims.answer(rows) == answer
    assert bool(rows[0].why) == (answer == "cannot tell")


def test_of_several_treatments_any_that_contradicts_decides(searched: RunFolder) -> None:
    rows = judged(searched, measure="breaking_point", above={"scaling": "horizontal"})
    assert {row.treatment: row.answer for row in rows}["scaling=vertical"] == "confirmed"
    below = judged(searched, measure="breaking_point", below={"scaling": "baseline"})
    assert len(below) == 2 and claims.answer(below) == "contradicted"


def test_latencies_are_compared_at_a_load(rates: RunFolder) -> None:
    (row,) = judged(rates, measure="p99", at=200, of={"scaling": "vertical"}, above={"scaling": "baseline"})
    assert row.answer == "confirmed" and row.other == "scaling=baseline"
    (untried,) = judged(rates, measure="p99", at=300, of={"scaling": "vertical"}, between=[0, 1])
    assert untried.answer == "cannot tell" and "300 req/s (tried: 100, 200)" in untried.why


def test_a_claim_of_nothing_that_ran_has_no_rows_and_stays_open(rates: RunFolder) -> None:
    assert judged(rates, measure="p99", at=200, of={"scaling": "horizontal"}, between=[0, 1]) == []
    assert claims.answer([]) == "cannot tell"


def test_a_claim_needs_exactly_one_form() -> None:
    two = Claim(text="a", measure="p99", above={}, between=[1, 2])
    none = Claim(text="a", measure="p99")
    assert [len(list(claim.findings())) for claim in (two, none)] == [1, 1]
