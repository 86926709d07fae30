"""The docstore on real clusters: documents go in over HTTP and come out over ZeroMQ, each by its own entry."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
import zmq

from loadstone.experiments.deployment import Deployed
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import ON_CLUSTERS, SharedClusters, folders

pytestmark = [pytest.mark.root, pytest.mark.timeout(1200)]


def read(address: str, identifier: str) -> Any:
    """What the queue replies."""
    with zmq.Context() as context, context.socket(zmq.REQ) as client:
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.RCVTIMEO, 60_000)
        client.connect(address)
        client.send(json.dumps({"op": "get", "id": identifier}).encode())
        return json.loads(client.recv())


def insert(address: str) -> str:
    """The id of a new document."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/documents", data=b'{"a":1}', headers=headers, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["id"])


@pytest.mark.parametrize("orchestrator", ON_CLUSTERS)
def test_both_entries_are_reached(orchestrator: str, shared_clusters: SharedClusters) -> None:
    cluster = shared_clusters(orchestrator)
    with folders() as place:
        application = applications.patient("docstore")
        (place / "application.yaml").write_text(yaml.safe_dump(application))
        workers = 1 if orchestrator == "compose" else 2
        study = docker_clusters.study(
            f"docstore-{orchestrator}-{os.getpid()}",
            orchestrator,
            application=str(place / "application.yaml"),
            resources=applications.limits(application),
            cluster={"infrastructure": "namespaces", "workers": workers},
        )
        deployed = docker_clusters.deploy(docker_clusters.plan_of(study), cluster.provision, Path(place / "run"))
        try:
            reads_and_inserts(deployed)
        finally:
            deployed.remove()


def reads_and_inserts(deployed: Deployed) -> None:
    urls = deployed.urls()
    assert deployed.targets() == [urls["read"].removeprefix("tcp://")], "the default workload's"
    assert read(urls["read"], "document-7")["document"]["number"] == 7
    before = deployed.seeder.counts()
    made = insert(urls["insert"])
    after = deployed.seeder.counts()
    assert after[("couchdb", "documents")] == before[("couchdb", "documents")] + 1 == 1001
    assert read(urls["read"], made)["document"]["a"] == 1
    assert [row for row in deployed.orchestrator.audit() if not row.ok] == []
