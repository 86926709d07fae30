"""Bare and container in one study, on the same two emulated hosts, and what their replicas really ran in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(900)]


@pytest.fixture
def person() -> Iterator[User]:
    findings = Namespaces(Cluster(), "preflight").preflight("swarm", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        user = User(Path(name))
        yield user
        user.runs("down")


def test_two_environments_take_turns_on_the_same_hosts(person: User) -> None:
    guest = this_machine().facts().hypervisor.present
    names = {"vm (guest given)", "vm-container (guest given)"} if guest else {"bare", "container"}
    shop = applications.shop()
    (person.home / "application.yaml").write_text(yaml.safe_dump(shop))
    study = docker_clusters.study(
        "environments",
        "process",
        application=str(person.home / "application.yaml"),
        resources=applications.limits(shop),
        cluster={"infrastructure": "namespaces", "workers": 2, **({"machine": "vm"} if guest else {})},
        factors={"environment": ["bare", "container"]},
    )
    del study["orchestrator"]
    (person.home / "study.yaml").write_text(yaml.safe_dump(study))
    person.runs("run", "study.yaml")
    (folder,) = person.home.glob("results/environments/*")
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    assert_answered(*rows)
    assert {row["environment"] for row in rows} == {row["factor_environment"] for row in rows} == names
    for row in rows:
        audit = json.loads((folder / "trials" / row["trial_id"] / "audit.json").read_text())
        found = {each["effective"] for each in audit if each["what"] == "environment"}
        assert found == {row["environment"]} and all(each["ok"] for each in audit)
        (files,) = [each["effective"] for each in audit if each["what"] == "files"]
        assert files == ("volume" if "container" in row["environment"] else "disk")
    assert {each["node"] for each in audit} == {"worker-1", "worker-2"}
