"""What the baseline has and a treatment lost is no silence: a comparison names it, and a gate sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.analysis import comparison, gate
from loadstone.analysis.comparison.unmeasured import Unmeasured, unmeasured
from loadstone.analysis.run import open_run
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.slo import Slo
from tests.synthetic import Synthetic
from tests.trial_rows import trial_row

SLO = Slo.model_validate({"p99": "50ms"})


def treatment(label: str, *trials: dict[str, Any]) -> TreatmentSummary:
    rows = tuple(trial_row(treatment=label, **{"offered": 100, "completed": 100, **trial}) for trial in trials)
    return TreatmentSummary(label, label, {}, rows, len(rows), None, (), ())


WHOLE = {"p50_ms": 2.0, "p99_ms": 9.0}
LOSSY = {"p50_ms": 2.0, "completed": 90, "latency_bound_ms": 30.0, "verdict": "not held"}
STOPPED = {"aborted_at_s": 1.0, "verdict": "not held"}
SILENT = {"completed": 0, "verdict": "not held"}


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([WHOLE, WHOLE], []),
        ([LOSSY, LOSSY], [("p99", (30.0, 30.0))]),
        ([LOSSY, WHOLE], [("p99", ())]),
        ([STOPPED, LOSSY], [("p50", ()), ("p99", (50.0, 30.0))]),
        ([SILENT, SILENT], [("p50", ()), ("p99", ())]),
        ([{**STOPPED, "verdict": "invalid"}, WHOLE], []),
        ([{"p50_ms": 2.0}], []),  # a generator that reports no P99
    ],
)
def test_what_a_treatment_lost_is_known_by_what_it_exceeds(
    trials: list[dict[str, Any]], expected: list[tuple[str, tuple[float, ...]]]
) -> None:
    found = unmeasured(treatment("a", WHOLE, WHOLE), treatment("b", *trials), SLO)
    assert found == [Unmeasured("a", "b", 100.0, statistic, longest_of(statistic), ex) for statistic, ex in expected]
    assert unmeasured(treatment("a", WHOLE, LOSSY, STOPPED), treatment("b", *trials), SLO) == []


def longest_of(statistic: str) -> float:
    return WHOLE[f"{statistic}_ms"]


def test_a_stop_says_nothing_of_a_percentile_below_that_of_the_slo() -> None:
    strict = Slo.model_validate({"p999": "50ms"})
    found = unmeasured(treatment("a", WHOLE), treatment("b", STOPPED), strict)
    assert [(each.statistic, each.exceeds) for each in found] == [("p50", ()), ("p99", ())]


def test_a_build_that_no_longer_bears_one_of_the_rates_is_no_pass(tmp_path: Path) -> None:
    rates = {"rates": [100.0, 500.0], "repetitions": 7, "duration_s": 4.0, "timeout_s": 1.0}
    old, new = (
        open_run(Synthetic({"shop": capacity}, **rates).write(tmp_path / name))  # type: ignore[arg-type]
        for name, capacity in (("old", 1000.0), ("new", 300.0))
    )
    found = comparison.between(old, new)
    assert any("too few requests were answered well for a P50" in text for text in found.warnings)
    answers = {(row.load, row.quantity): row.answer for row in gate.regressions(found, 0.05)}
    assert answers[500, "p50"] == answers[500, "p99"] == "failed"
    assert {load for load, _ in answers} == {100, 500}
