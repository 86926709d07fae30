"""Hosts that vanish during a study on Kubernetes: a manager of three is not missed, a worker is, and comes back; the
node of a store takes its documents along, and leaves a pod that hangs."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.experiments.plan import make_plan
from loadstone.infrastructure import journal
from loadstone.infrastructure.failover import Refused
from loadstone.infrastructure.kubernetes_api import connect
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.users import User, wait
from tests.traces import snapshot

pytestmark = [pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: losses
application: application.yaml
orchestrator: kubernetes
high_availability: on
cluster: {infrastructure: namespaces, workers: 2}
resources: RESOURCES
load: {rates: [10, 11, 12, 13], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 4}
trial: {warmup: 1s, duration: 8s, order: sequential}
"""

DOCUMENTS = """\
version: 1
name: vanished
application: application.yaml
workload: insert
orchestrator: kubernetes
cluster: {infrastructure: namespaces, workers: 2}
resources: RESOURCES
load: {closed: {clients: [1, 2, 3]}, timeout: 5s, lateness: 10s}
trial: {warmup: 1s, duration: 8s, order: sequential, reset: per-treatment}
"""


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """A user in a folder whose path is short enough for sockets; what they leave behind is an error."""
    cluster = Namespaces(Cluster(infrastructure="namespaces", workers=2), "unused")
    if wrong := [finding.message for finding in cluster.preflight("kubernetes", 3) if finding.level == "error"]:
        pytest.skip("; ".join(wrong))
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        Path(name).chmod(0o755)
        monkeypatch.setenv("LOADSTONE_DATA", f"{name}/data")
        monkeypatch.setenv("LOADSTONE_STATE", f"{name}/state")
        user = User(Path(name))
        yield user
        user.runs("down")
        assert journal.entries() == []


def hosts(user: User) -> tuple[str, dict[str, Host]]:
    """The cluster that is there now: its id and its hosts."""
    (entry,) = (entry for entry in journal.entries() if entry.layer == "infrastructure")
    return entry.facts["id"], {host.name: host for host in EmulatedHosts.of(entry.facts).hosts}


@pytest.mark.long
def test_a_manager_is_not_missed_and_a_worker_comes_back(user: User) -> None:
    shop = applications.shop()
    (user.home / "application.yaml").write_text(yaml.safe_dump(shop))
    (user.home / "study.yaml").write_text(STUDY.replace("RESOURCES", json.dumps(applications.limits(shop))))
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    first, there = hosts(user)
    there["manager-1"].stop()  # the first: a client that knew it alone would be lost now
    user.waits_until_a_trial_is_loaded(process, finished=1)
    there["worker-2"].stop()
    user.waits_until_a_trial_is_loaded(process, finished=2)
    second, _ = hosts(user)
    output, complained = process.communicate()

    assert first != second  # healed: a new cluster
    assert [row["rate"] for row in user.rows()] == [10, 11, 12, 13]
    invalid = [row["verdict"] == "invalid" for row in user.rows()]
    assert invalid == [False, True, False, False], output + complained
    assert "worker-2: it is down" in user.rows()[1]["reasons"]
    assert process.returncode == 4, output + complained
    for mark in (first, second):
        left = snapshot(mark, (user.home / "data",))
        assert {kind: lines for kind, lines in left.items() if lines and kind not in ("system", "knobs")} == {}


def write_documents(user: User) -> None:
    """A study of three trials that insert into the docstore."""
    docstore = applications.patient("docstore")
    (user.home / "application.yaml").write_text(yaml.safe_dump(docstore))
    text = DOCUMENTS.replace("RESOURCES", json.dumps(applications.limits(docstore)))
    (user.home / "study.yaml").write_text(text)


@pytest.mark.long
def test_the_store_s_node_vanishes_with_its_documents(user: User) -> None:
    write_documents(user)
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    first, there = hosts(user)
    (under_way,) = (file.parent for file in user.home.glob("results/*/*/trials/*/load.json")
                    if not (file.parent / "trial.json").exists())  # fmt: skip
    audit = json.loads((under_way / "audit.json").read_text())
    (node,) = {row["node"] for row in audit if row["replica"] == "couchdb-1"}
    there[node].stop()
    user.waits_until_a_trial_is_loaded(process, finished=2)
    second, _ = hosts(user)
    output, complained = process.communicate()

    assert first != second, "the next trial has a whole cluster"
    assert process.returncode == 4, output + complained
    before, lost, after = user.rows()
    assert (before["verdict"], after["verdict"]) == ("measured", "measured"), output + complained
    assert lost["verdict"] == "invalid" and f"{node}: it is down" in lost["reasons"]
    written = 1000 + before["completed"]
    (documents,) = (reason for reason in lost["reasons"] if "documents" in reason)
    found = re.fullmatch(r"documents are lost or out of reach: ([\d,]+) in couchdb/documents", documents)
    assert found and int(found[1].replace(",", "")) > written, "what was there, and what this trial had inserted"


def overdue(pod: dict[str, Any]) -> bool:
    """Whether the time that its containers are given to end is over since two seconds."""
    until = pod["metadata"].get("deletionTimestamp")
    return until is not None and datetime.fromisoformat(until) + timedelta(seconds=2) < datetime.now(UTC)


def test_a_pod_that_hangs_on_a_node_that_is_gone_is_removed_by_force(user: User, tmp_path: Path) -> None:
    write_documents(user)
    plan = make_plan(Document.read(user.home / "study.yaml"))
    with docker_clusters.cluster(plan, user.home) as provision:
        assert provision.access is not None
        deployed = docker_clusters.deploy(plan, provision, tmp_path / "run")
        api, path = connect(provision.access), "/api/v1/namespaces/vanished"
        (store,) = (row for row in deployed.orchestrator._find() if row.service == "couchdb")  # type: ignore[attr-defined]
        there = {host.name: host for host in docker_clusters.emulated("vanished").hosts}
        there[store.node].stop()
        wait(lambda: any(f"{store.node} is down" in event for event in deployed.orchestrator.events()))
        api.delete(path)

        def hanging() -> list[dict[str, Any]]:
            return [pod for pod in api.items(f"{path}/pods") if pod["spec"].get("nodeName") == store.node]

        wait(lambda: all(map(overdue, hanging())))
        assert hanging(), "it hangs in Terminating"
        deployed.remove()
        with pytest.raises(Refused, match="not found"):
            api.get(path)
