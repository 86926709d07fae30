"""Claims: confirmed, contradicted, or left open where intervals overlap or are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.analysis import claims, summary
from loadstone.analysis.published.quantities import Ours
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


def test_a_claim_of_what_did_not_run_is_not_tested(rates: RunFolder) -> None:
    (row,) = rows = judged(rates, measure="p99", at=200, of={"scaling": "horizontal"}, between=[0, 1])
    assert (row.treatment, row.value, row.other, row.answer) == ("scaling=horizontal", None, None, "not tested")
    assert row.why == "no such treatment" and claims.answer(rows) == "not tested"
    (row,) = judged(rates, measure="p99", at=200, of={"scaling": "vertical"}, above={"scaling": "horizontal"})
    assert (row.other, row.answer, row.why) == ("scaling=horizontal", "not tested", "no such treatment")


def test_a_claim_needs_exactly_one_form() -> None:
    two = Claim(text="a", measure="p99", above={}, between=[1, 2])
    none = Claim(text="a", measure="p99")
    assert [len(list(claim.findings())) for claim in (two, none)] == [1, 1]


def test_of_spans_the_ranges_over_runs_decide(rates: RunFolder) -> None:
    claim = {
        "measure": "anderson_darling",
        "span": "a b",
        "of": {"scaling": "vertical"},
        "above": {"scaling": "baseline"},
    }
    treatments = summary.treatments(rates)

    def judge(**low: float) -> claims.ClaimRow:
        spans = {(f"scaling={name}", "a b", "anderson_darling"): Ours(9.0, end, 10.0, 3) for name, end in low.items()}
        made = Claim.model_validate({"text": "a", **claim})
        (row,) = claims.judge(rates, treatments, [made], spans)
        return row

    assert judge(baseline=8.0, vertical=10.5).answer == "confirmed"
    assert judge(baseline=8.0, vertical=9.5).answer == "cannot tell"
    assert "span a b" in judge(vertical=9.5).why
    assert list(Claim.model_validate({"text": "a", **claim, "span": None}).findings())


def test_clients_of_a_closed_loop_are_compared_over_all_iterations(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100, 200], repetitions=1).write(tmp_path)
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    for row, clients in zip(rows, (1, 5), strict=True):
        row |= {"clients": clients, "phase": "closed", "iterations": 10, "verdict": "measured", "loop": "closed"}
        some = [{"client": 1, "iteration": n + 1, "requests": 100, "errors": 0, "mean_ms": 1.0} for n in range(10)]
        made = [each | {"start_s": float(n), "duration_s": clients + 0.01 * n} for n, each in enumerate(some)]
        pq.write_table(pa.Table.from_pylist(made), folder / "trials" / row["trial_id"] / "iterations.parquet")
        trial = folder / "trials" / row["trial_id"] / "trial.json"
        document = json.loads(trial.read_text())
        trial.write_text(json.dumps(document | {"row": document["row"] | row}, default=str))
    schema = pq.read_schema(folder / "trials.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "trials.parquet")
    (row,) = judged(open_run(folder), measure="iteration_s", of={"clients": 5}, above={"clients": 1})
    assert (row.answer, row.treatment, row.other) == (
        "confirmed",
        "hotel-reservation, 5 clients",
        "hotel-reservation, 1 client",
    )
