"""A Kubernetes cluster that was there before generates its own load and receives its own spans, on a labelled node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.infrastructure.kubernetes_api import connect
from tests.infrastructure.real_engines import registry
from tests.support import applications
from tests.support.clusters import Shared, SharedClusters
from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: on-its-own
application: application.yaml
orchestrator: kubernetes
cluster: {infrastructure: existing, registry: "http://REGISTRY/lab"}
resources: RESOURCES
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
traces: {sample: 1}
trial: {warmup: 1s, duration: 3s}
"""


@pytest.fixture
def shared(shared_clusters: SharedClusters) -> Iterator[Shared]:
    """Its second worker is a client, and takes no other pods."""
    there = shared_clusters("kubernetes")
    api, node = connect(there.access), "/api/v1/nodes/worker-2"
    taint = {"key": "loadstone.role", "value": "client", "effect": "NoSchedule"}
    api.merge(node, {"metadata": {"labels": {"loadstone.role": "client"}}, "spec": {"taints": [taint]}})
    yield there
    api.merge(node, {"metadata": {"labels": {"loadstone.role": None}}, "spec": {"taints": None}})


def test_a_labelled_node_seeds_the_stores_and_generates_the_load(shared: Shared, tmp_path: Path) -> None:
    person = User(tmp_path)  # their journal does not have the cluster: it is one that was there before
    person.environment |= {"KUBECONFIG": shared.access.addresses[0], "LOADSTONE_DATA": str(shared.place / "data")}
    shop = applications.shop()
    (tmp_path / "application.yaml").write_text(yaml.safe_dump(shop))
    with registry(tmp_path, shared.provision.nodes[0].address) as host:
        shared.trust(host)
        study = STUDY.replace("RESOURCES", json.dumps(applications.limits(shop))).replace("REGISTRY", host)
        (tmp_path / "study.yaml").write_text(study)
        person.runs("run", "study.yaml")
    (trial,) = tmp_path.glob("results/*/*/trials/*")
    found = json.loads((trial / "trial.json").read_text())["row"]
    assert_answered(found)
    (generator,) = json.loads((trial / "summary.json").read_text())["generator"]["workers"]
    assert generator["name"] == "worker-2" and generator["sent"] > 0
    seen = json.loads((trial / "observed.json").read_text())
    assert seen["problems"] == [] and seen["traces"]["written"] > 0
    assert pq.read_metadata(trial / "spans.parquet").num_rows == seen["traces"]["written"]
    assert {row["node"] for row in json.loads((trial / "audit.json").read_text())} == {"worker-1"}
    namespaces = [each["metadata"]["name"] for each in connect(shared.access).items("/api/v1/namespaces")]
    assert [name for name in namespaces if not name.startswith(("kube-", "default"))] == []
