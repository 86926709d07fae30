"""What a run folder is resumed with, and what is left of it where a run was killed or its files were damaged."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.experiments import resume, runs, sessions
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.resume import reopen
from loadstone.model.errors import InputError
from tests.experiments.disks import Disk
from tests.experiments.fakes import (
    APPLICATION,
    SEARCH,
    STUDY,
    Begin,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Recorder,
    conduct,
    provenance,
    write_study,
)
from tests.support.plans import read_plan

pytestmark = pytest.mark.usefixtures("fake_layers")

TWO_APPLICATIONS = STUDY.replace("application: ./application.yaml\n", "").replace(
    "factors: {", "factors: {application: [./application.yaml, ./other.yaml], "
)


@pytest.mark.parametrize("name", ["other", "tiny"])
def test_a_run_is_not_resumed_where_one_of_its_applications_changed(tmp_path: Path, name: str) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(APPLICATION.replace("name: tiny", f"name: {name}").replace("5000", "5001"))
    document, plan = read_plan(write_study(tmp_path, TWO_APPLICATIONS))
    folder = runs.create(tmp_path / "results", document, plan, [], provenance())
    assert [treatment.id for treatment in reopen(folder)[0].treatments] == [each.id for each in plan.treatments]
    other.write_text(other.read_text().replace("path: /", "path: /changed"))
    where = r"applications.of application=./other.yaml scaling=baseline.workloads.get.operations.get.path \(/, now /ch"
    with pytest.raises(InputError, match=where):
        reopen(folder)


@pytest.mark.parametrize(("then", "now"), [(["couchdb"], []), ([], ["couchdb"])])
def test_a_run_is_not_resumed_with_other_software_in_place_of_what_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: list[str], now: list[str]
) -> None:
    monkeypatch.setattr(catalogue, "replaced", lambda application: then)
    document, plan = read_plan(write_study(tmp_path, STUDY))
    folder = runs.create(tmp_path / "results", document, plan, [], provenance())
    reopen(folder)
    monkeypatch.setattr(catalogue, "replaced", lambda application: now)
    with pytest.raises(InputError, match=r"differences: .*stand_ins.*couchdb-stand-in"):
        reopen(folder)


class Noting(Recorder):
    """Keeps notes."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_images_of_other_content_than_before_are_noted(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, ledger = begin(STUDY)
    apply, image = FakeOrchestrator.apply, {"reference": "loadstone/stone:4", "id": "sha256:5"}

    def applying(self: FakeOrchestrator, stores_only: bool = False) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "images.json").write_text(json.dumps({"stone": image}))
        apply(self, stores_only)

    monkeypatch.setattr(FakeOrchestrator, "apply", applying)
    recorder = Noting()
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), FakeDriver(), recorder).run()
    assert not [note for note in recorder.notes if "image" in note]
    shutil.rmtree(ledger.folder / "trials" / ledger.records[-1].trial_id)
    image["id"] = "sha256:6"
    plan, ledger = reopen(ledger.folder)
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), FakeDriver(), recorder).run()
    text = "image stone: loadstone/stone:4 sha256:5 in earlier trials, loadstone/stone:4 sha256:6 from now on"
    assert [note for note in recorder.notes if text in note]
    assert text in json.dumps(json.loads((ledger.folder / "provenance.json").read_text())["warnings"])


def test_software_of_other_versions_than_before_is_a_warning(begin: Begin) -> None:
    _, ledger = begin(STUDY)
    runs.add_software(ledger.folder, {"stone": "stone 1", "postgres": "15.17"}, {})
    assert runs.update_software(ledger.folder, {"stone": "stone 1", "memcached": "1.6"}) == []
    text = "postgres: 15.17 in earlier trials, 15.18 from now on"
    assert runs.update_software(ledger.folder, {"stone": "stone 1", "postgres": "15.18"}) == [text]
    known = json.loads((ledger.folder / "provenance.json").read_text())
    assert known["warnings"].count(text) == 1
    assert known["software"] == {"stone": "stone 1", "postgres": "15.18", "memcached": "1.6"}
    assert runs.update_software(ledger.folder, {"postgres": "15.18"}) == []


@pytest.mark.parametrize("text", [STUDY, SEARCH], ids=["fixed", "search"])
def test_in_place_of_a_trial_that_was_moved_away_another_is_run_and_none_is_lost(begin: Begin, text: str) -> None:
    plan, ledger = begin(text)
    conduct(plan, ledger)
    for share in (0.1, 0.5, 0.9):
        place = int(share * len(ledger.records))
        shutil.rmtree(ledger.folder / "trials" / ledger.records[place].trial_id)
        plan, ledger = reopen(ledger.folder)
        files = {file: file.stat().st_ino for file in ledger.folder.glob("trials/*/trial.json")}
        rows = [record.row for record in ledger.records]
        conduct(plan, ledger)
        assert runs.complete(plan, ledger)
        assert [record.row for record in ledger.records[: len(rows)]] == rows
        found = [record.trial_id for record in ledger.records]
        assert len(found) == len(set(found)) == len(list(ledger.folder.glob("trials/*/trial.json")))
        orders = [record.row.order for record in ledger.records]
        assert orders == sorted(set(orders))
        assert {file: file.stat().st_ino for file in files} == files


def test_the_run_that_is_resumed_is_of_the_name_that_an_override_gives(tmp_path: Path) -> None:
    file, results = str(write_study(tmp_path)), tmp_path / "results"
    (begun,) = sessions.of_study(results, file, ["name=renamed"], [], None)
    folder = begun.create(provenance())
    (again,) = sessions.of_run(results, file, ["name=renamed"], [], None)
    assert again.ledger is not None and again.ledger.folder == folder
    with pytest.raises(InputError, match=r"no run of tiny-study in .*results/ to resume"):
        sessions.of_run(results, file, [], [], None)


def test_the_working_folder_is_a_run_or_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (begun,) = sessions.of_study(tmp_path / "results", str(write_study(tmp_path)), [], [], None)
    monkeypatch.chdir(begun.create(provenance()))
    assert runs.locate(Path("results"), ".") == Path()
    for folder in ("/", "./trials", "trials/.."):
        monkeypatch.chdir("/")
        with pytest.raises(InputError, match=f"no run {folder!r} in results/"):
            runs.locate(Path("results"), folder)


class Killed(BaseException):
    """Ends what runs, as SIGKILL does."""


def begin_part(folder: Path) -> Path:
    """Begin the run of a part where it was left, if it was."""
    results = folder / "results"
    chosen = sessions.of_run(results, None, [], [], None) if runs.any_in(results) else None
    (session,) = chosen or sessions.of_study(results, str(folder / "study.yaml"), [], [], None)
    return session.create(provenance([{"name": "a"}])) if session.ledger is None else session.ledger.folder


def test_a_run_that_is_killed_while_it_begins_is_no_run_yet_or_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_whole(folder: Path) -> bool:
        nodes = json.loads((folder / "provenance.json").read_text())["nodes"]
        return nodes == [{"name": "a"}] and (folder / "trials").exists() and not resume.look(folder)[1].records

    def cut(number: int) -> None:
        if number != kill_at:
            return
        copy = tmp_path / f"cut-{number}"
        disk.after_cut(tmp_path / "results", copy, random.Random(number))
        for file in copy.rglob("p*s.json"):
            assert (file.parent / "study.yaml").read_text() == study.read_text()
        assert all(is_whole(file.parent) for file in copy.rglob("plan.json"))
        raise Killed

    study = write_study(tmp_path, f"{STUDY}parts: [{{name: one}}]\n")
    disk = Disk(cut)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    kill_at, begun = 0, False
    while not begun:
        kill_at += 1
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        disk.number = 0
        try:
            begun = is_whole(begin_part(tmp_path))
        except Killed:
            assert is_whole(begin_part(tmp_path))
    assert kill_at > 10
