"""Scripts, traces and certificates of a study: found beside it, part of the trials' identity, kept with the results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from loadstone.experiments import runs, schedule
from loadstone.experiments.plan import Plan
from loadstone.experiments.resume import reopen
from loadstone.model.arrival import Replay
from loadstone.model.errors import InputError
from tests.experiments.fakes import STUDY, write_study
from tests.support.plans import read_plan

SCRIPTED = STUDY.replace("factors: {scaling: [baseline, unlimited]}", "workload: scripts/mine.lua")
AMONG = STUDY.replace("[baseline, unlimited]", "[baseline], workload: [get, scripts/mine.lua]")


def plan_of(folder: Path, text: str, script: str = "wrk.path = '/'\n") -> Plan:
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts/mine.lua").write_text(script)
    return read_plan(write_study(folder, text))[1]


def ids(plan: Plan) -> set[str]:
    return {trial.id for trial in schedule.fixed_trials(plan)}


def test_a_script_is_a_workload(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SCRIPTED)
    assert plan.workload(plan.treatments[0]) == tmp_path / "scripts/mine.lua"
    mixed = plan_of(tmp_path, AMONG)
    assert [type(mixed.workload(treatment)).__name__ for treatment in mixed.treatments] == ["Workload", "PosixPath"]
    assert [treatment.script_digest is None for treatment in mixed.treatments] == [True, False]


def test_another_script_or_other_arguments_are_other_trials(tmp_path: Path) -> None:
    before = ids(plan_of(tmp_path, SCRIPTED))
    assert ids(plan_of(tmp_path, SCRIPTED)) == before
    assert ids(plan_of(tmp_path, SCRIPTED, "wrk.path = '/b'\n")).isdisjoint(before)
    given = SCRIPTED.replace("rates:", "script: {arguments: [a]}, rates:")
    assert ids(plan_of(tmp_path, given)).isdisjoint(before)
    among = ids(plan_of(tmp_path, AMONG))
    again = ids(plan_of(tmp_path, AMONG, "-- changed\n"))
    assert len(among & again) == len(among) / 2, "the trials of the other workload are the same"


def test_the_run_keeps_the_script_where_its_own_copy_of_the_study_finds_it(tmp_path: Path) -> None:
    plan_of(tmp_path, SCRIPTED)
    document, plan = read_plan(tmp_path / "study.yaml")
    folder = runs.create(tmp_path / "results", document, plan, [], {})
    assert (folder / "scripts/mine.lua").read_text() == "wrk.path = '/'\n"
    shutil.copyfile(tmp_path / "application.yaml", folder / "application.yaml")
    assert ids(read_plan(folder / "study.yaml")[1]) == ids(plan)


def test_a_script_from_elsewhere_is_kept_too(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    plan_of(tmp_path, SCRIPTED)
    study = write_study(tmp_path / "study", SCRIPTED.replace("scripts/", "../scripts/"))
    document, plan = read_plan(study)
    folder = runs.create(tmp_path / "results", document, plan, [], {})
    assert (folder / "scripts/mine.lua").exists()


def test_a_run_is_not_resumed_with_a_script_that_changed(tmp_path: Path) -> None:
    plan_of(tmp_path, SCRIPTED)
    document, plan = read_plan(tmp_path / "study.yaml")
    folder = runs.create(tmp_path / "results", document, plan, [], {})
    assert ids(reopen(folder)[0]) == ids(plan)
    (tmp_path / "scripts/mine.lua").write_text("-- another\n")
    with pytest.raises(InputError, match="was started with a different plan"):
        reopen(folder)


def test_a_trace_is_found_beside_the_study_and_its_content_counts(tmp_path: Path) -> None:
    text = STUDY.replace("rates:", "arrival: {process: replay, file: trace.csv}, rates:")
    (tmp_path / "trace.csv").write_text("0\n1\n")
    before = plan = read_plan(write_study(tmp_path, text))[1]
    assert isinstance(plan.study.load.arrival, Replay)
    assert plan.study.load.arrival.file == str(tmp_path / "trace.csv")
    (tmp_path / "trace.csv").write_text("0\n2\n")
    assert ids(read_plan(tmp_path / "study.yaml")[1]).isdisjoint(ids(before))


def test_a_trace_at_its_own_pace_is_one_trial(tmp_path: Path) -> None:
    text = STUDY.replace("rates: [100, 200, 300],", "arrival: {process: replay, file: trace.csv, speed: 1},")
    (tmp_path / "trace.csv").write_text("0\n1\n")
    trials = list(schedule.fixed_trials(read_plan(write_study(tmp_path, text))[1]))
    assert [(trial.rate, trial.phase) for trial in trials] == [(0.0, "fixed")] * 4
    assert len({trial.id for trial in trials}) == 4
