"""What a run folder is resumed with, and what is left of it where a run was killed or its files were damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments import runs
from loadstone.experiments.resume import reopen
from loadstone.model.errors import InputError
from tests.experiments.fakes import APPLICATION, STUDY, provenance, write_study
from tests.support.plans import read_plan

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
