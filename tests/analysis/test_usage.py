"""CPU by service, and what audits and checks found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from loadstone.analysis import evidence, summary, usage
from loadstone.analysis.run import open_run
from loadstone.model.records.reading import Reading
from tests.synthetic_files import SERVICES


def test_cpu_is_that_of_the_highest_held_load(searched: Path):
    run = open_run(searched)
    for treatment in summary.treatments(run):
        trial = usage.highest_held(treatment)
        assert trial is not None and trial.verdict == "held" and trial.phase != "bracket"
        written = json.loads((searched / "trials" / trial.trial_id / "usage.json").read_text())
        rows = usage.cpu_by_service(run, treatment)
        assert [row.cpu_s for row in rows] == sorted((row["cpu_s"] for row in written), reverse=True)
        assert {row.service: row.tier for row in rows} == {name: tier for name, (tier, _) in SERVICES.items()}
        for row in rows:
            assert row.cores == pytest.approx(row.cpu_s / written[0]["window_s"])
            # Of what was completed within the window; what the drain completed is of no processor time in it.
            assert row.cpu_ms_per_request == pytest.approx(1000 * row.cores / trial.throughput)


def test_replicas_are_added_and_a_missing_limit_is_no_limit(searched: Path, tmp_path: Path):
    folder = Path(shutil.copytree(searched, tmp_path / "run"))
    (treatment, _) = summary.treatments(open_run(folder))
    trial = usage.highest_held(treatment)
    assert trial is not None
    base = {"service": "geo", "tier": "logic", "window_s": 10.0, "memory_peak": 5, "memory_limit": None}
    replicas = [
        {**base, "cpu_s": 2.0, "cpu_limit": 0.5, "throttled_s": 1.0},
        {**base, "cpu_s": 4.0, "cpu_limit": 0.5, "throttled_s": 3.0},
        {**base, "service": "rate", "cpu_s": 1.0, "cpu_limit": None, "throttled_s": None},
    ]
    (folder / "trials" / trial.trial_id / "usage.json").write_text(json.dumps(replicas))
    geo, rate = usage.cpu_by_service(open_run(folder), treatment)
    assert (geo.replicas, geo.cores, geo.limit_cores) == (2, 0.6, 1.0)
    assert geo.throttled_share == pytest.approx(0.2)
    assert geo.memory_peak_bytes == 10 and geo.memory_limit_bytes is None
    assert rate.limit_cores is None and rate.throttled_share is None


def test_no_held_trial_gives_an_empty_table(rated: Path):
    run = open_run(rated)
    nothing = summary.TreatmentSummary("x", "x", {}, (), None, None, (), ())
    assert usage.cpu_by_service(run, nothing) == []


def test_audits_and_checks_are_counted_over_all_trials(searched: Path):
    run = open_run(searched)
    found = evidence.gather(run, summary.treatments(run))
    trials = len(run.trials)
    rows = 3 * len(SERVICES) + 1  # one service keeps files
    assert (found.audited, found.checked) == (rows * trials, trials)
    assert (found.mismatched, found.waived, found.failed) == (1, 0, 0)
    wrong = [row for row in found.audit if not row.ok]
    assert [(row.replica, row.wanted, row.effective) for row in wrong] == [("rate-1", "1.00", "0.50")]
    last = {row.trial_id for row in found.audit} - {wrong[0].trial_id}
    assert last == {treatment.trials[-1].trial_id for treatment in summary.treatments(run)}


def test_the_busiest_service_says_where_the_cpu_ends() -> None:
    def replica(service: str, cpu: float | None, limit: float | None) -> Reading:
        return Reading(service=service, tier="logic", window_s=1.0, cpu_s=cpu or 0.0, cpu=cpu, cpu_limit=limit)

    replicas = [replica("frontend", 0.2, 0.5), replica("search", 0.3, 1.0), replica("search", 0.5, 1.0)]
    assert usage.cpu_capacity(replicas, 100.0) == pytest.approx(250)
    assert usage.cpu_capacity([replica("search", 3.0, None)], 100.0) is None, "without a limit there is no share of it"
    assert usage.cpu_capacity([replica("search", None, 1.0)], 100.0) is None
    assert usage.cpu_capacity([replica("search", 0.01, 1.0)], 100.0) is None, "that is what a service uses at rest"
    assert usage.cpu_capacity(replicas, None) is None
    assert usage.cpu_capacity([], 100.0) is None
