"""Latency and throughput tables against the trials that they are made from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from loadstone.analysis import curves, latency, summary, usage
from loadstone.analysis.run import open_run
from loadstone.model.slo import Slo
from loadstone.report.figures.kinds import KINDS
from tests.trial_rows import trial_row


def test_rates_are_medians_over_valid_trials(rated: Path):
    run = open_run(rated)
    rows = {row.rate: row for row in latency.by_rate(summary.treatments(run))}
    assert list(rows) == [200, 500, 2000]
    for rate, row in rows.items():
        mine = [t for t in run.trials if t.rate == rate]
        valid = [t for t in mine if t.verdict != "invalid"]
        assert row.trials == 3 and row.invalid == len(mine) - len(valid)
        if rate == 2000:  # two thirds are answered
            assert (row.p50_ms, row.p99_ms, row.p99_lowest_ms) == (median(t.p50_ms for t in valid), None, None)
            assert row.latency_bound_ms == median(t.latency_bound_ms for t in valid) >= 2000
        else:
            assert row.p99_ms == median(t.p99_ms for t in valid)
            assert row.p99_lowest_ms == min(t.p99_ms for t in valid)
        assert row.throughput == median(t.throughput for t in valid)
        assert row.dropped_share == pytest.approx(median(1 - t.completed / t.offered for t in valid))
    assert rows[500].invalid == 1
    assert (rows[500].held, rows[2000].not_held) == (2, 3)


@pytest.mark.parametrize(
    ("known", "expected"), [((10.0, 20.0, None), 20.0), ((10.0, None, None), None), ((10.0, 20.0), 15.0)]
)
def test_a_percentile_of_which_a_bound_is_known_ranks_above_all_others(
    known: tuple[float | None, ...], expected: float | None
) -> None:
    trials = tuple(trial_row(p99_ms=p99, latency_bound_ms=None if p99 else 5000.0) for p99 in known)
    treatment = summary.TreatmentSummary("a", "a", {}, trials, None, None, (), ())
    (row,) = latency.by_rate([treatment])
    assert (row.p99_ms, row.p99_lowest_ms) == (expected, 10.0)
    assert row.p99_highest_ms == (None if None in known else 20.0)
    points = {point.quantity: point.median for point in curves.points([treatment])}
    assert points.get("p99_ms") == (None if None in known else 15.0)


@pytest.mark.parametrize(
    ("trials", "bound"),
    [
        ([(10.0, 20.0, None), (12.0, None, 5000.0)], 2510.0),  # P99: 20 ms and more than 5 s
        ([(10.0, None, 3000.0), (12.0, None, 5000.0)], 4000.0),
        ([(11.111, None, 3000.0), (None, None, 5000.0)], 2500.0),  # P50: more than 2505.56 ms
        ([(10.0, 20.0, None), (11.0, 21.0, None), (12.0, None, 5000.0)], 5000.0),  # only the highest is not known
        ([(10.0, 20.0, None)], None),
    ],
)
def test_a_median_is_at_least_what_its_trials_allow(
    trials: list[tuple[float | None, float | None, float | None]], bound: float | None
) -> None:
    rows = tuple(trial_row(p50_ms=p50, p99_ms=p99, p999_ms=p99, latency_bound_ms=least) for p50, p99, least in trials)
    (row,) = latency.by_rate([summary.TreatmentSummary("a", "a", {}, rows, None, None, (), ())])
    assert row.latency_bound_ms == bound


def test_a_trial_in_which_nothing_was_answered_is_not_left_out() -> None:
    """Its percentiles rank above all others, without a known bound; a mean is unknown with it."""
    given = {"p50_ms": 10.0, "p99_ms": 20.0, "p999_ms": 30.0, "mean_ms": 12.0}
    good, dead = trial_row(**given), trial_row(**dict.fromkeys(given))
    (row,) = latency.by_rate([summary.TreatmentSummary("a", "a", {}, (good, good, dead), None, None, (), ())])
    assert (row.p50_ms, row.p99_ms, row.p99_lowest_ms, row.p99_highest_ms) == (10.0, 20.0, 20.0, None)
    (row,) = latency.by_rate([summary.TreatmentSummary("a", "a", {}, (good, dead, dead), None, None, (), ())])
    assert (row.p50_ms, row.p99_ms, row.mean_ms, row.latency_bound_ms) == (None, None, None, None)


def test_no_more_is_dropped_than_was_not_finished() -> None:
    counts = ((1000, 1000), (1000, 1000), (1000, 700))
    rows = tuple(
        trial_row(offered=offered, completed=completed, throughput=completed / 10, window_s=10.0)
        for offered, completed in counts
    )
    (row,) = latency.by_rate([summary.TreatmentSummary("a", "a", {}, rows, None, None, (), ())])
    assert (row.dropped_share, row.unfinished_share) == (0.0, 0.0)


def test_a_search_has_no_table_of_rates(searched: Path):
    assert latency.by_rate(summary.treatments(open_run(searched))) == []


def test_points_are_all_trials_that_measured_something(searched: Path):
    run = open_run(searched)
    points = latency.load_points(run.trials)
    assert {p.trial_id for p in points} == {row.trial_id for row in run.trials}
    for point in points:
        row = next(t for t in run.trials if t.trial_id == point.trial_id)
        assert point.p99_ms == row.p99_ms and point.verdict == row.verdict
        if row.aborted_at_s is None:
            assert point.offered_per_s == pytest.approx(row.offered / row.window_s)
        else:
            assert {name for name, value in vars(point).items() if value is not None} == {
                *("trial_id", "treatment", "phase", "rate", "load", "verdict", "aborted_at_s")
            }


def test_the_spectrum_is_that_of_the_trials_nearest_to_the_shares(searched: Path):
    run = open_run(searched)
    for treatment in summary.treatments(run):
        near = latency.near_shares(treatment)
        assert near[-1][0] == pytest.approx(0.95, abs=0.05)
        assert [share for share, _ in near] == sorted(share for share, _ in near)
        assert all(row.verdict != "invalid" and row.aborted_at_s is None for _, row in near)
        table = latency.spectrum(run, treatment)
        for _, row in near:
            summary_file = searched / "trials" / row.trial_id / "summary.json"
            written = json.loads(summary_file.read_text())["spectrum"]
            mine = [[r.percentile, r.latency_ms, r.service_ms] for r in table if r.trial_id == row.trial_id]
            assert mine == written


def test_operations_are_those_of_the_trials_beside_the_breaking_point(searched: Path):
    run = open_run(searched)
    for treatment in summary.treatments(run):
        beside = latency.beside_breaking_point(treatment)
        held = beside[0]
        assert held.rate == max(row.rate for row in treatment.rows("held"))
        for broke in beside[1:]:
            assert broke.rate >= held.rate and broke.verdict == "not held" and broke.aborted_at_s is None
        rows = latency.operations(run, treatment)
        assert {row.trial_id for row in rows} == {trial.trial_id for trial in beside}
        for trial in beside:
            mine = [row for row in rows if row.trial_id == trial.trial_id]
            assert sum(row.offered for row in mine) == trial.offered
            assert sum(row.violations for row in mine) == trial.violations


def test_what_did_not_hold_may_be_at_the_load_that_held() -> None:
    held, broke = trial_row(verdict="held"), trial_row(verdict="not held")
    beside = latency.beside_breaking_point(summary.TreatmentSummary("a", "a", {}, (held, broke), None, None, (), ()))
    assert [row.verdict for row in beside] == ["held", "not held"]
    [caption] = [kind.caption for kind in KINDS if kind.name == "operations"]
    assert "the lowest load from there on that did not hold" in caption


@pytest.mark.parametrize(
    ("second", "chosen"),
    [({"phase": "fine", "rate": 110.0}, "b"), ({"phase": "bracket", "rate": 110.0}, "a"), ({"repetition": 2}, "a")],
    ids=["higher", "short", "again"],
)
def test_all_that_is_of_the_highest_load_that_held_is_of_one_trial(second: dict[str, Any], chosen: str):
    rows = (trial_row(trial_id="a", phase="fine"), trial_row(**{"trial_id": "b", "phase": "fine"} | second))
    treatment = summary.TreatmentSummary("a", "a", {}, rows, None, None, (), ())
    highest = usage.highest_held(treatment)
    assert highest is not None and highest.trial_id == chosen
    assert latency.beside_breaking_point(treatment) == [highest]


def test_an_operation_without_a_request_has_no_latency(rated: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rated, tmp_path / "run"))
    (treatment,) = summary.treatments(open_run(folder))
    held = latency.beside_breaking_point(treatment)[0]
    file = folder / "trials" / held.trial_id / "summary.json"
    written = json.loads(file.read_text())
    nothing = {"count": 0, **dict.fromkeys(("mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"), 0)}
    counts = dict.fromkeys(written["operations"][0]["counts"], 0)
    never = {"name": "never", "counts": counts, "violations": 0}
    written["operations"].append({**never, "latency_ms": {"intended": nothing, "service": nothing}})
    file.write_text(json.dumps(written))
    rows = latency.operations(open_run(folder), treatment)
    (row,) = [row for row in rows if row.operation == "never"]
    assert row.offered == 0
    assert all(getattr(row, name) is None for name in ("p50_ms", "p99_ms", "service_p99_ms", "dropped_share"))


@pytest.mark.parametrize(
    ("slo", "expected"),
    [
        ({"p99": "200ms"}, ("p99_ms", "P99", 200.0)),
        ({"p50": "10ms", "p999": "1s"}, ("p999_ms", "P99.9", 1000.0)),
        ({"p90": "10ms", "p97": "1s"}, ("p90_ms", "P90", 10.0)),
        ({"p97": "1s"}, ("p99_ms", "P99", None)),
        (None, ("p99_ms", "P99", None)),
    ],
)
def test_the_strictest_percentile_that_trials_have_is_shown(slo, expected):
    assert latency.percentile_column(Slo.model_validate(slo) if slo else None) == expected
