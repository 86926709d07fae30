"""Studies on a real swarm of emulated hosts, some of which are switched off meanwhile."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.namespaces.emulated import Emulated
from tests.orchestration import docker_clusters
from tests.system.conftest import User, end
from tests.traces import snapshot

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.clusters, pytest.mark.timeout(1200)]


@pytest.fixture
def user() -> Iterator[User]:
    """A user, of whose clusters nothing may be left afterwards."""
    with docker_clusters.folders() as home:
        before = snapshot()
        user = User(home)
        yield user
        assert journal.entries() == []
        left = snapshot("emulated-", (home / "data" / "clusters",))
        assert {kind: lines for kind, lines in left.items() if any(str(home) in line for line in lines)} == {}
        after = snapshot()
        assert {kind: after[kind] for kind in docker_clusters.MACHINE} == {
            kind: before[kind] for kind in docker_clusters.MACHINE
        }


def write_study(user: User, rates: list[int], **more: Any) -> None:
    study = docker_clusters.study("on-swarm", "swarm", **more)
    study["load"] = {**study["load"], "rates": rates}
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))
    docker_clusters.require(docker_clusters.plan_of(study))


def switch_off(name: str) -> str:
    """End everything on one of the emulated hosts at once; returns their cluster."""
    (entry,) = [entry for entry in journal.entries() if entry.layer == "infrastructure"]
    emulated = Emulated.of(entry.facts)
    next(host for host in emulated.hosts if host.name == name).stop()
    return emulated.id


def rows(user: User) -> list[dict[str, Any]]:
    files = user.home.glob("results/*/*/trials/*/trial.json")
    return sorted((json.loads(file.read_text())["row"] for file in files), key=lambda row: int(row["order"]))


def folder_of(user: User, row: dict[str, Any]) -> Path:
    return next(user.home.glob(f"results/*/*/trials/{row['trial_id']}"))


def test_a_worker_that_is_switched_off_makes_its_trial_invalid_and_the_study_goes_on(user: User) -> None:
    write_study(user, [10, 20, 30], cluster={"infrastructure": "namespaces", "workers": 2})
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    (finished,) = user.home.glob("results/*/*/trials/*/trial.json")
    before = finished.read_bytes()
    switch_off("worker-2")
    said, complained = process.communicate(timeout=900)
    assert process.returncode == 4, said + complained
    first, second, third = rows(user)
    assert [row["verdict"] == "invalid" for row in (first, second, third)] == [False, True, False], second["reasons"]
    assert any(reason.startswith("worker-2") for reason in second["reasons"])
    assert finished.read_bytes() == before
    for row in (first, third):
        audit = json.loads((folder_of(user, row) / "audit.json").read_text())
        assert len(audit) == 22 * 5 and all(line["ok"] for line in audit)
        assert all(check["ok"] for check in json.loads((folder_of(user, row) / "checks.json").read_text()))
        assert row["emulated"]


def test_a_manager_that_is_switched_off_is_spared_with_high_availability(user: User) -> None:
    write_study(user, [10, 20], cluster={"infrastructure": "namespaces", "workers": 2}, high_availability="on")
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    switch_off("manager-1")  # the leader, which was asked so far
    said, complained = process.communicate(timeout=900)
    assert process.returncode == 0, said + complained
    assert len(rows(user)) == 2 and "invalid" not in {row["verdict"] for row in rows(user)}


def test_a_run_that_is_interrupted_leaves_nothing(user: User) -> None:
    write_study(user, [10], cluster={"infrastructure": "namespaces", "workers": 1})
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    code, said = end(process, signal.SIGINT)
    assert code == 130 and "loadstone run --resume" in said
