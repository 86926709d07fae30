"""What is known of a latency where requests got no good answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from loadstone.model.records.bounds import beyond, is_bound, only_bounded
from loadstone.model.records.summary import Counts, Latencies, Latency, LessOwn, TrialSummary
from tests.trial_rows import trial_row

LATENCIES = {"p50": 1.0, "p75": 1.2, "p90": 2.0, "p95": 2.5, "p99": 5003.775, "p999": 5003.775, "max": 5101.0}
FAILED = Counts(offered=1000, completed=970, late=10, errors=20, sent=1000)


@pytest.mark.parametrize(("percentile", "bound"), [(98.0, False), (98.1, True), (99.0, True), (100.0, True)])
def test_a_percentile_is_a_bound_from_the_first_rank_without_an_answer(percentile: float, bound: bool) -> None:
    assert is_bound(percentile, 1000, 980) is bound


@pytest.mark.parametrize("count", [1000, 3000, 7000, 10**9])
def test_the_last_answer_is_no_bound_whatever_floats_make_of_its_rank(count: int) -> None:
    assert not is_bound(99.9, count, count * 999 // 1000) and is_bound(99.9, count, count * 999 // 1000 - 1)


def test_a_bound_is_rounded_down_to_the_digits_that_a_histogram_has() -> None:
    assert beyond(LATENCIES, 1000, 980) == (["p99", "p999", "max"], 5000.0)
    assert beyond({"p999": None, "max": 0.12345}, 1000, 999) == (["max"], 0.123)
    assert beyond({"max": 98765.4}, 1000, 999) == (["max"], 98700.0)
    assert beyond(LATENCIES, 1000, 1000) == ([], None)
    assert beyond({}, 1000, 0)[1] is None


def summary(**changes: object) -> TrialSummary:
    intended = Latency(count=1000, answered=980, mean=1.1, **LATENCIES)
    spectrum = ((50.0, 1.0, 0.9), (98.0, 3.0, 2.9), (99.0, 5003.775, 3.0))
    given = {
        "window_s": 10.0,
        "counts": FAILED,
        "throughput": 97.0,
        "latency_ms": Latencies(intended=intended, service=Latency(count=980, p99=3.0)),
        "spectrum": spectrum,
        "less_own": LessOwn(
            latency_ms=Latency(count=1000, **LATENCIES), spectrum=((98.0, 3.0), (99.0, 5e3)), backlog=()
        ),
        "operations": (),
        "errors": (),
        "generator": {},
    }
    return TrialSummary.model_validate(given | changes)


def test_what_was_observed_has_no_lower_bound_among_its_latencies() -> None:
    found = summary().observed()
    latency = found.latency_ms.intended
    assert latency is not None
    assert (latency.p95, latency.p99, latency.p999, latency.max, latency.bound) == (2.5, None, None, None, 5000.0)
    assert latency.mean == 1.1
    assert found.latency_ms.service == summary().latency_ms.service
    assert found.spectrum == ((50.0, 1.0, 0.9), (98.0, 3.0, 2.9), (99.0, None, 3.0))
    assert found.less_own is not None and found.less_own.spectrum == ((98.0, 3.0),)
    assert found.less_own.latency_ms.p99 is None


def test_the_mean_of_an_earlier_release_is_of_bounds_too() -> None:
    old = Latency(count=1000, mean=101.2, **LATENCIES)
    found = summary(latency_ms=Latencies(intended=old)).observed().latency_ms.intended
    assert found is not None and found.mean is None
    whole = Latency(count=980, mean=101.2)
    assert whole.observed(980) == whole


def test_what_another_generator_reports_of_its_answers_is_kept() -> None:
    answers = Latency(count=980, p99=3.0)
    kept = summary(latency_ms=Latencies(intended=answers), counts=Counts(completed=970, errors=10))
    assert kept.observed().latency_ms.intended == answers


def test_the_verdict_sees_the_bounds() -> None:
    assert summary().percentile_ms(99.0) == 5003.775


def test_a_row_of_an_earlier_release_loses_its_bounds() -> None:
    latencies = {f"{name}_ms": value for name, value in LATENCIES.items()}
    counts = {"offered": 1000, "completed": 970, "late": 10, "mean_ms": 101.2}
    row = trial_row(**latencies, **counts)
    assert (row.p95_ms, row.p99_ms, row.max_ms, row.mean_ms, row.latency_bound_ms) == (2.5, None, None, None, 5000.0)
    assert trial_row(**row.columns()) == row
    now = trial_row(**counts, p95_ms=2.5, latency_bound_ms=5000.0)
    assert (now.mean_ms, now.p95_ms, now.latency_bound_ms) == (101.2, 2.5, 5000.0)
    nothing = trial_row(**latencies, offered=1000, completed=0, late=0)
    assert (nothing.p50_ms, nothing.max_ms, nothing.latency_bound_ms) == (None, None, None)
    whole = trial_row(**latencies, offered=1000, completed=1000, late=0, mean_ms=1.1)
    assert (whole.p99_ms, whole.max_ms, whole.mean_ms, whole.latency_bound_ms) == (5003.775, 5101.0, 1.1, None)


@pytest.mark.parametrize(
    ("p99_ms", "bound", "only"), [(7.0, None, False), (7.0, 5000.0, False), (None, 5000.0, True), (None, None, False)]
)
def test_a_row_has_a_bound_alone_where_its_value_is_null(p99_ms: float | None, bound: float | None, only: bool) -> None:
    assert only_bounded(SimpleNamespace(p99_ms=p99_ms, latency_bound_ms=bound), "p99_ms") is only
