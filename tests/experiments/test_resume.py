"""What a run folder is resumed with, and what is left of it where a run was killed or its files were damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from loadstone.experiments import runs
from loadstone.experiments.resume import reopen
from loadstone.model.errors import InputError
from tests.experiments.fakes import APPLICATION, SEARCH, STUDY, Begin, conduct, provenance, write_study
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


@pytest.mark.parametrize("text", [STUDY, SEARCH], ids=["fixed", "search"])
def test_in_place_of_a_trial_that_was_moved_away_another_is_run_and_none_is_lost(begin: Begin, text: str) -> None:
    plan, ledger = begin(text)
    conduct(plan, ledger)
    for share in (0.1, 0.5, 0.9):
        place = int(share * len(ledger.records))
        shutil.rmtree(ledger.folder / "trials" / ledger.records[place].trial_id)
        plan, ledger = reopen(ledger.folder)
        kept = {record.trial_id: (ledger.folder / "trials" / record.trial_id).stat().st_ino for record in ledger.records}
        rows = [record.row for record in ledger.records]
        conduct(plan, ledger)
        assert runs.complete(plan, ledger)
        assert [record.row for record in ledger.records[: len(rows)]] == rows
        found = [record.trial_id for record in ledger.records]
        assert len(found) == len(set(found)) == len(list(ledger.folder.glob("trials/*/trial.json")))
        orders = [record.row.order for record in ledger.records]
        assert orders == sorted(set(orders))
        assert {name: (ledger.folder / "trials" / name).stat().st_ino for name in kept} == kept
