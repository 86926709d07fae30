"""Datasets of a study: chosen by name or by file, part of the trials' identity, the load's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.experiments import deployment, runs, schedule
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.plan import Plan
from loadstone.experiments.resume import reopen
from loadstone.infrastructure.base import Provision
from loadstone.model.cluster import Node
from loadstone.model.errors import InputError
from loadstone.model.workload import Workload
from tests.experiments.fakes import SEEDED, STUDY
from tests.support.plans import read_plan

BOTH = STUDY.replace("scaling: [baseline, unlimited]", "dataset: [small, large]")
FILES = STUDY.replace("scaling: [baseline, unlimited]", "dataset: [small, data/mine.mtx]")
NODES = (
    Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**33),
    Node(name="worker", role="worker", address="127.0.0.1", cpus=(1,), memory=2**33),
)


def plan_of(folder: Path, study: str = STUDY, edges: str = "1 2\n") -> Plan:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/mine.mtx").write_text(edges)
    (folder / "application.yaml").write_text(SEEDED)
    (folder / "study.yaml").write_text(study)
    return read_plan(folder / "study.yaml")[1]


def ids(plan: Plan) -> set[str]:
    return {trial.id for trial in schedule.fixed_trials(plan)}


def test_the_default_dataset_is_that_of_the_application(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert {treatment.settings.dataset for treatment in plan.treatments} == {"small"}
    assert plan.dataset(plan.treatments[0]) == {"users": 962, "edges": 18812}


def test_datasets_are_a_factor(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BOTH)
    assert [treatment.levels for treatment in plan.treatments] == [{"dataset": "small"}, {"dataset": "large"}]
    assert [plan.dataset(treatment)["users"] for treatment in plan.treatments] == [962, 81306]


def test_a_file_is_a_dataset_and_its_content_tells_trials_apart(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, FILES)
    assert plan.dataset(plan.treatments[1]) == {"file": str(tmp_path / "data/mine.mtx")}
    treatments = plan.as_data()["treatments"]
    assert treatments[0]["dataset_digest"] is None and len(treatments[1]["dataset_digest"]) == 12
    before = ids(plan)
    assert ids(plan_of(tmp_path, FILES)) == before
    again = ids(plan_of(tmp_path, FILES, "1 3\n"))
    assert len(before & again) == len(before) / 2, "the trials of the other dataset are the same"


def test_the_run_keeps_the_file_and_is_not_resumed_with_another(tmp_path: Path) -> None:
    plan_of(tmp_path, FILES)
    document, plan = read_plan(tmp_path / "study.yaml")
    folder = runs.create(tmp_path / "results", document, plan, [], {})
    assert (folder / "data/mine.mtx").read_text() == "1 2\n"
    assert ids(reopen(folder)[0]) == ids(plan)
    (tmp_path / "data/mine.mtx").write_text("2 1\n")
    with pytest.raises(InputError, match=r"was started with a different plan \(differences: "):
        reopen(folder)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("smal", "tiny has no dataset 'smal'; did you mean 'small'?"),
        ("data/none.mtx", "{folder}/data/none.mtx: there is no such file; paths are relative to the study file"),
        ("./data", "{folder}/data: is a folder; paths are relative to the study file"),
    ],
)
def test_a_dataset_that_is_none_is_refused_at_its_line(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_of(tmp_path, STUDY + f"dataset: {setting}\n")
    assert str(caught.value) == f"{tmp_path}/study.yaml:8: dataset: {message.format(folder=tmp_path)}"


def loads(plan: Plan, folder: Path) -> list[dict[str, Any]]:
    """The field of each treatment's requests as it is offered."""
    fields = []
    for treatment in plan.treatments:
        workload = Deployed(plan.deployable(treatment), Provision(NODES), "tiny", folder).workload()
        assert isinstance(workload, Workload)
        fields.append(workload.operations["get"].fields["user"].model_dump(exclude_none=True))
    return fields


def test_each_treatment_is_loaded_with_the_numbers_of_its_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stone = tmp_path / "stone"
    stone.write_text('#!/bin/sh\ngrep -q mine.mtx "$4" && [ "$5" = --describe ] && echo \'{"users": 7, "edges": 9}\'\n')
    stone.chmod(0o755)
    monkeypatch.setattr(deployment, "stone_binary", lambda: stone)
    assert [field["max"] for field in loads(plan_of(tmp_path, BOTH), tmp_path)] == [961, 81305]
    assert loads(plan_of(tmp_path, FILES), tmp_path)[1] == {"kind": "integer", "min": 0, "max": 6}
