"""Runs of earlier releases: what lies in their folders is enough to show them, and to go on with them."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone import api
from loadstone.cli.main import run_command
from loadstone.experiments import runs, schedule, stored_plan
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan, read_plans
from loadstone.experiments.resume import look, reopen
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.records.trial_row import WINDOWED
from loadstone.report import format
from tests.experiments.fakes import STUDY, write_study
from tests.support.plans import read_plan
from tests.trial_rows import row_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = sorted(FIXTURES.glob("release-*.tar.xz"))


@pytest.fixture(params=RELEASES, ids=lambda file: file.name.removesuffix(".tar.xz"))
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run of a release."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    (folder,) = (tmp_path / "old").iterdir()
    return folder


def test_status_shows_it_with_the_release_that_ran_it(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = len(list(old.glob("trials/*/trial.json")))
    assert run_command(["status", str(old), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)["run"]
    assert (status["finished_trials"], status["remaining_trials"], status["complete"]) == (trials, 0, True)
    assert status["loadstone"] == json.loads((old / "provenance.json").read_text())["loadstone"]
    assert run_command(["status", str(old)]) == 0
    assert f"run by Loadstone {status['loadstone']}" in capsys.readouterr().out


@pytest.mark.slow
def test_resuming_it_has_nothing_to_do_and_reports(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.read_bytes() for file in old.glob("trials/*/*")}
    assert run_command(["run", "--resume", str(old)]) in (0, 4)  # 4: some of its trials were invalid
    assert "the run is complete" in capsys.readouterr().err
    assert (old / "report" / "index.html").stat().st_size > 10_000
    assert {file: file.read_bytes() for file in old.glob("trials/*/*")} == before


@pytest.mark.slow
def test_it_is_loaded_and_exported(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = api.load(old)
    assert len(run.trials) == len(list(old.glob("trials/*/trial.json")))
    target = tmp_path / "given.zip"
    assert run_command(["export", str(old), "--output", str(target)]) == 0
    assert f"given.zip ({format.size(target.stat().st_size)})" in capsys.readouterr().out.replace("\n", "")
    with zipfile.ZipFile(target) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/trials.parquet"))
        rows = pq.read_table(BytesIO(archive.read(name))).to_pylist()
    stopped = [row for row in rows if row["aborted_at_s"] is not None]
    assert stopped and {row[name] for row in stopped for name in WINDOWED} == {None}
    assert [row["trial_id"] for row in rows] == [row["trial_id"] for row in run.trials.rows()]


def test_its_treatments_keep_their_ids(old: Path) -> None:
    plan, ledger = look(old)
    assert {record.treatment_id for record in ledger.records} <= {treatment.id for treatment in plan.treatments}
    assert {document["id"] for document in plan.as_data()["treatments"]} == {
        treatment.id for treatment in plan.treatments
    }


Half = Callable[[], tuple[Plan, Ledger]]


@pytest.fixture
def half(tmp_path: Path) -> Half:
    """A run with half of its trials done, written down as a release did whose models had fewer keys."""

    def make() -> tuple[Plan, Ledger]:
        document, plan = read_plan(write_study(tmp_path, STUDY))
        ledger = runs.ledger_of(runs.create(tmp_path / "results", document, plan, [], {}), plan.study)
        trials = list(schedule.fixed_trials(plan))
        for trial in trials[: len(trials) // 2]:
            place = ledger.trial_folder(trial)
            row = row_of(trial, "held").columns()
            row |= {"trial_id": "old-" + trial.id, "treatment_id": "old-" + trial.treatment.id}
            (place / "trial.json").write_text(json.dumps({"row": row}))
        written = json.loads((ledger.folder / "plan.json").read_text())
        for key in ("wrk2_layout", "streams", "workers"):
            del written["study"]["load"][key]
        for treatment in written["treatments"]:
            treatment["id"] = "old-" + treatment["id"]
            del treatment["settings"]["tuning"], treatment["dataset_digest"]
        (ledger.folder / "plan.json").write_text(json.dumps(written))
        return plan, ledger

    return make


def test_addresses_of_load_workers_are_their_number(half: Half) -> None:
    _, ledger = half()
    for listed, number in (([], None), (["10.0.0.2:7400", "10.0.0.3:7400"], 2)):
        written = json.loads((ledger.folder / "plan.json").read_text())
        written["study"]["load"]["workers"] = listed
        (ledger.folder / "plan.json").write_text(json.dumps(written))
        assert stored_plan.read(ledger.folder).study.load.workers == number


def test_new_keys_with_defaults_are_no_difference_and_finished_trials_are_known(half: Half) -> None:
    plan, ledger = half()
    trials = list(schedule.fixed_trials(plan))
    resumed, found = reopen(ledger.folder)
    assert len(found.records) == len(trials) // 2
    assert [treatment.id for treatment in resumed.treatments] == [
        "old-" + treatment.id for treatment in plan.treatments
    ]
    following = schedule.next_trial(resumed, found.records)
    assert following is not None
    assert following.model_dump(exclude={"treatment"}) == trials[len(trials) // 2].model_dump(exclude={"treatment"})
    assert schedule.remaining(resumed, found.records) == len(trials) - len(trials) // 2


def test_what_differs_is_named_with_both_values(half: Half, tmp_path: Path) -> None:
    _, ledger = half()
    changes = ["trial.duration=2s", "load.timeout=4s"]
    _, changed = read_plan(write_study(tmp_path, STUDY), changes)
    with pytest.raises(
        InputError, match=r"study\.load\.timeout \(\S+, now 4s\), study\.trial\.duration \(\S+, now 2s\)\)"
    ):
        stored_plan.adopt(ledger.folder, changed)


def test_every_study_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    studies = [
        path
        for path in sorted((Path(__file__).parents[2] / "studies").rglob("*.yaml"))
        if "version: 1" in path.read_text()
    ]
    assert len(studies) > 10
    for study in studies:
        document = Document.read(study)
        for part, plan in read_plans(document).items():
            folder = runs.create(tmp_path / study.stem / part, document, plan, [], {})
            again = stored_plan.adopt(folder, plan)
            ids = [treatment.id for treatment in plan.treatments]
            assert [treatment.id for treatment in again.treatments] == ids, (study, part)


def test_a_plan_that_is_not_understood_names_its_release(half: Half) -> None:
    _, ledger = half()
    file = ledger.folder / "plan.json"
    written: dict[str, Any] = json.loads(file.read_text())
    written["study"]["load"]["flux"] = 1
    file.write_text(json.dumps(written))
    with pytest.raises(InputError, match=r"by Loadstone \d\S+, cannot be read by this release: .*flux: [^\n]*$"):
        reopen(ledger.folder)
