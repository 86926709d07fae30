"""Studies on a real swarm of emulated hosts, some of which are switched off meanwhile."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.audits import complete
from tests.support.users import User, end

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1200)]


def write_study(user: User, rates: list[int], **more: Any) -> None:
    """The shop under these rates, or another application."""
    if "application" not in more:
        shop = applications.shop()
        (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
        more |= {"application": str(user.home / "application.yaml"), "resources": applications.limits(shop)}
    study = docker_clusters.study("on-swarm", "swarm", **more)
    # What a worker that is switched off never answers is given up when its time is up: the trial lasts as long.
    study["load"] |= {"rates": rates, "slo": {"p99": "4s"}, "timeout": "5s"}
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))
    docker_clusters.require(docker_clusters.plan_of(study))


def switch_off(name: str) -> str:
    """End everything on one of the emulated hosts at once; returns their cluster."""
    (entry,) = [entry for entry in journal.entries() if entry.layer == "infrastructure"]
    emulated = EmulatedHosts.of(entry.facts)
    next(host for host in emulated.hosts if host.name == name).stop()
    return emulated.id


def folder_of(user: User, row: dict[str, Any]) -> Path:
    return next(user.home.glob(f"results/*/*/trials/{row['trial_id']}"))


@pytest.mark.parametrize(
    ("application", "replicas"),
    [({}, applications.SHOP), pytest.param({"application": "hotel-reservation"}, 22, marks=pytest.mark.long)],
    ids=["shop", "hotel"],
)
def test_a_worker_that_is_switched_off_makes_its_trial_invalid_and_the_study_goes_on(
    cluster_user: User, application: dict[str, str], replicas: int
) -> None:
    write_study(cluster_user, [10, 20, 30], cluster={"infrastructure": "namespaces", "workers": 2}, **application)
    process = cluster_user.starts("run", "study.yaml")
    cluster_user.waits_until_a_trial_is_loaded(process, finished=1)
    (finished,) = cluster_user.home.glob("results/*/*/trials/*/trial.json")
    before = finished.read_bytes()
    switch_off("worker-2")
    output, complained = process.communicate(timeout=900)
    assert process.returncode == 4, output + complained
    first, second, third = cluster_user.rows()
    reasons = [row["reasons"] for row in (first, second, third)]
    assert [row["verdict"] == "invalid" for row in (first, second, third)] == [False, True, False], reasons
    assert any(reason.startswith("worker-2") for reason in second["reasons"])
    assert finished.read_bytes() == before
    for row in (first, third):
        audit = json.loads((folder_of(cluster_user, row) / "audit.json").read_text())
        assert complete(audit, replicas)
        assert all(check["ok"] for check in json.loads((folder_of(cluster_user, row) / "checks.json").read_text()))
        assert row["emulated"]


@pytest.mark.long
def test_a_manager_that_is_switched_off_is_spared_with_high_availability(cluster_user: User) -> None:
    write_study(cluster_user, [10, 20], cluster={"infrastructure": "namespaces", "workers": 2}, high_availability="on")
    process = cluster_user.starts("run", "study.yaml")
    cluster_user.waits_until_a_trial_is_loaded(process, finished=1)
    switch_off("manager-1")  # the leader, which was used so far
    output, complained = process.communicate(timeout=900)
    assert process.returncode == 0, output + complained
    assert len(cluster_user.rows()) == 2 and "invalid" not in {row["verdict"] for row in cluster_user.rows()}


def test_a_run_that_is_interrupted_leaves_nothing(cluster_user: User) -> None:
    long = {"warmup": "1s", "duration": "120s"}
    write_study(cluster_user, [10], cluster={"infrastructure": "namespaces", "workers": 1}, trial=long)
    process = cluster_user.starts("run", "study.yaml")
    cluster_user.waits_until_a_trial_is_loaded(process, finished=0)
    code, output = end(process, signal.SIGINT)
    assert code == 130 and "loadstone run --resume" in output
