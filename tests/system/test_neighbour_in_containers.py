"""Another application beside the measured one in containers of the same engines: loaded, apart, killed, removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure import journal
from loadstone.infrastructure.docker_api import Engine
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from tests.orchestration import docker_clusters
from tests.support import applications, groups
from tests.support.users import User, descendants
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1800)]

ORCHESTRATORS = ("compose", pytest.param("swarm", marks=pytest.mark.long))


def write(user: User, orchestrator: str, rates: list[int], quiet: bool = False) -> None:
    """The document store beside another one, which documents are put into; ``quiet``: also without that."""
    docstore = applications.patient("docstore")
    (user.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    limits = applications.limits(docstore)
    application = str(user.home / "application.yaml")
    beside = {"application": application, "workload": "insert", "rate": 5, "resources": limits}
    study = docker_clusters.study(
        "beside",
        orchestrator,
        application=application,
        resources=limits,
        cluster={"infrastructure": "namespaces", "workers": 1},
        **({"factors": {"interference": ["off", beside]}} if quiet else {"interference": beside}),
    )
    study["load"] |= {"rates": rates}
    if not quiet:  # what is killed is killed in its trial
        study["trial"] |= {"duration": "8s"}
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))
    docker_clusters.require(docker_clusters.plan_of(study))


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_it_is_loaded_through_the_window_and_is_in_no_table_of_the_first(cluster_user: User, orchestrator: str) -> None:
    write(cluster_user, orchestrator, [5], quiet=True)
    cluster_user.runs("run", "study.yaml")
    (run,) = cluster_user.home.glob("results/beside/*")
    rows = pq.read_table(run / "trials.parquet").to_pylist()
    assert_answered(*rows)
    quiet, beside = (run / "trials" / row["trial_id"] for row in rows)
    assert not (quiet / "interference.json").exists()
    found = read(beside, "interference.json")
    load, [used] = found["load"], found["readings"]
    assert found["problems"] == []
    assert (load["application"], load["workload"], load["rate"]) == ("docstore", "insert", 5)
    assert abs(load["offered"] - 5 * load["window_s"]) <= 1 and load["completed"] > 0.5 * load["offered"]
    assert (used["name"], used["node"]) == ("docstore", "worker-1") and used["cpu_s"] > 0 and used["memory"] > 0
    replicas = [set(read(folder, "observed.json")["replicas"]) for folder in (quiet, beside)]
    assert replicas[0] == replicas[1] == {row["replica"] for row in read(beside, "usage.json")}
    assert len(replicas[0]) == 2, "of two applications with the same services"
    [check] = read(beside, "checks.json")
    assert check["ok"], "what the neighbour inserted is in a store of its own"
    assert (run / "report" / "tables" / "neighbour_requests.csv").read_text().count("docstore") >= 1


@pytest.mark.long
@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_one_that_dies_makes_its_trial_invalid_and_a_killed_run_leaves_both_to_down(
    cluster_user: User, orchestrator: str
) -> None:
    write(cluster_user, orchestrator, [5, 6, 7, 8])
    process = cluster_user.starts("run", "study.yaml")
    try:
        cluster_user.waits_until_a_trial_is_loaded(process, finished=0)
        (generator,) = descendants(process.pid, "neighbour/load.json")
        generator.kill()
        cluster_user.waits_until_a_trial_is_loaded(process, finished=1)
        api, container = _queue()
        groups.kill(groups.of_container(container))
        cluster_user.waits_until_a_trial_is_loaded(process, finished=3)
        deployments = {entry.name for entry in journal.entries() if entry.layer == "orchestrators"}
        assert {each["Labels"][LABEL] for each in api.containers(filters={"label": SERVICE_LABEL})} <= deployments
    finally:
        process.kill()
        process.communicate(timeout=60)
        removed = cluster_user.runs("down").stdout
    first, second, third = cluster_user.rows()
    assert first["reasons"] == ["interference: the load generator of docstore was killed by SIGKILL"]
    assert second["verdict"] == "invalid" and any("queue-1" in reason for reason in second["reasons"])
    assert {reason.partition("docstore: ")[0] for reason in second["reasons"]} == {"interference: "}, second["reasons"]
    assert_answered(third)
    (own,) = (name for name in deployments if not name.endswith("-neighbour"))
    assert deployments == {own, f"{own}-neighbour"}
    assert own in removed and f"{own}-neighbour" in removed


def _queue() -> tuple[Any, str]:
    """The API of the engine on which the neighbour's queue runs, and the id of its container."""
    (entry,) = (entry for entry in journal.entries() if entry.name.endswith("-neighbour"))
    api = Engine(entry.facts["access"]["engines"]["worker-1"]).api
    labels = [f"{LABEL}={entry.name}", f"{SERVICE_LABEL}=queue"]
    (container,) = api.containers(filters={"label": labels})
    return api, str(container["Id"])
