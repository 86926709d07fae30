"""The Kubernetes cluster that a user has: which nodes it offers, and the messages when it cannot be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.failover import Refused, Unreachable
from loadstone.infrastructure.kubernetes_api import KubernetesApi, path_of
from loadstone.infrastructure.software.kubernetes import found
from loadstone.model.cluster import Cluster
from loadstone.model.errors import PreflightError
from tests.infrastructure.answering import Answering, answering

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NODES = "/api/v1/nodes"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def node(name: str, address: str, ready: str = "True", **spec: Any) -> dict[str, Any]:
    """A node as the API lists it."""
    return {
        "metadata": {"name": name, "labels": {CONTROL_PLANE: ""} if name.startswith("plane") else {}},
        "spec": spec,
        "status": {
            "addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}],
            "capacity": {"cpu": "4", "memory": "16384Ki"},
            "allocatable": {"cpu": "4", "memory": "8192Ki"},
            "conditions": [{"type": "Ready", "status": ready, "message": "Kubelet stopped posting node status."}],
        },
    }


@pytest.fixture
def server() -> Iterator[Answering]:
    """A cluster with a control plane, two workers, and nodes that take no pods of ours."""
    only = [{"key": "gpu", "effect": "NoSchedule"}]
    nodes = [
        node("worker-b", "10.0.0.3"),
        node("plane", "10.0.0.1", taints=[{"key": CONTROL_PLANE, "effect": "NoSchedule"}]),
        node("worker-a", "10.0.0.2", taints=[{"key": "slow", "effect": "PreferNoSchedule"}]),
        node("special", "10.0.0.4", taints=only),
        node("cordoned", "10.0.0.5", unschedulable=True),
        node("dead", "10.0.0.6", ready="Unknown"),
    ]
    answers = {
        "/version": (200, {"gitVersion": "v1.31.4"}),
        NODES: (200, {"items": nodes}),
        REVIEWS: (201, {"status": {"allowed": True}}),
    }
    with answering(answers) as state:
        yield state


@pytest.fixture
def kubeconfig(server: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    return written(tmp_path / "config", server.address, monkeypatch)


def written(file: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "mine",
        "contexts": [{"name": "mine", "context": {"cluster": "there", "user": "me"}}],
        "clusters": [{"name": "there", "cluster": {"server": address}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
    }
    file.write_text(json.dumps(data))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


def messages(**cluster: Any) -> list[str]:
    findings = Existing(Cluster(infrastructure="existing", **cluster), "unused").preflight("kubernetes", 1)
    return [finding.message for finding in findings if finding.level == "error"]


@pytest.mark.parametrize(
    ("quantity", "memory"),
    [
        ("8192Ki", 2**23),
        ("7134213529600m", 7_134_213_529),
        ("1.5Gi", 3 * 2**29),
        ("8G", 8 * 10**9),
        ("123e6", 123 * 10**6),
    ],
)
def test_memory_is_read_as_kubelets_write_it(server: Answering, kubeconfig: Path, quantity: str, memory: int) -> None:
    _, listed = server.answers[NODES]
    for each in listed["items"]:
        each["status"]["allocatable"]["memory"] = quantity
    assert {node.memory for node in found.find().nodes if node.role == "worker"} == {memory}


def test_nodes_that_take_pods_are_workers(kubeconfig: Path) -> None:
    provision = found.find()
    nodes = [(node.name, node.role, node.address, len(node.cpus), node.memory) for node in provision.nodes[1:]]
    assert nodes == [
        ("plane", "manager", "10.0.0.1", 4, 8 * 2**20),
        ("worker-a", "worker", "10.0.0.2", 4, 8 * 2**20),
        ("worker-b", "worker", "10.0.0.3", 4, 8 * 2**20),
    ]
    way = {"software": "kubernetes", "kubeconfig": str(kubeconfig), "context": "mine"}
    assert [node.reach.options for node in provision.nodes[2:]] == [way | {"node": f"worker-{name}"} for name in "ab"]
    assert provision.access is not None
    assert provision.access.addresses == (str(kubeconfig),) and provision.access.engines == {}
    assert provision.access.extra == {"context": "mine", "managers": "1"}


def test_labelled_nodes_are_clients_whose_own_taint_is_no_hindrance(kubeconfig: Path, server: Answering) -> None:
    own = [{"key": "loadstone.role", "value": "client", "effect": "NoSchedule"}]
    nodes = [
        node("worker-a", "10.0.0.2"),
        node("load-a", "10.0.0.3", taints=own),
        node("load-b", "10.0.0.4"),
        node("load-c", "10.0.0.5", taints=[*own, {"key": "gpu", "effect": "NoSchedule"}]),
        node("load-d", "10.0.0.6", unschedulable=True),
        node("tainted", "10.0.0.7", taints=own),
    ]
    for each in nodes[1:5]:
        each["metadata"]["labels"]["loadstone.role"] = "client"
    server.answers[NODES] = (200, {"items": nodes})
    there = [(each.name, each.role) for each in found.find().nodes]
    assert there == [("load-a", "client"), ("load-b", "client"), ("worker-a", "worker")], "and this machine is none"


def test_the_user_s_token_is_sent(kubeconfig: Path, server: Answering) -> None:
    found.find()
    assert {headers["authorization"] for _, headers in server.received} == {"Bearer secret"}


def test_nodes_elsewhere_need_a_registry(kubeconfig: Path) -> None:
    assert messages() == ["images cannot be loaded into worker-a, worker-b from here"]
    assert messages(registry="registry.example.org/loadstone") == []


def test_managers_that_are_not_there_are_missed(kubeconfig: Path) -> None:
    findings = Existing(Cluster(infrastructure="existing", registry="r.example.org"), "unused").preflight(
        "kubernetes", 3
    )
    assert any(finding.message.startswith("managers: your cluster has 1, the study needs 3") for finding in findings)


def test_without_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert messages() == [f"there is no kubeconfig: {tmp_path}/.kube/config (KUBECONFIG is not set)"]
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")
    assert messages() == ["there is no kubeconfig: KUBECONFIG=/no/such/file"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "just words", "a: b", "contexts: 7", "current-context: gone\ncontexts: []"]
)
def test_a_file_that_is_no_kubeconfig(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    file = tmp_path / "config"
    file.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(file))
    (message,) = messages()
    assert message.startswith(f"{file} is no usable kubeconfig: ")


def test_a_cluster_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    with answering({}) as gone:
        address = gone.address
    written(tmp_path / "config", address, monkeypatch)
    assert messages() == [f"the Kubernetes API at {address} cannot be reached: Connection refused"]


def test_a_user_without_rights(kubeconfig: Path, server: Answering) -> None:
    server.answers[REVIEWS] = (201, {"status": {"allowed": False}})
    assert messages() == [
        f"you may not create namespaces and list nodes and create pods/exec in the cluster at {server.address}"
    ]


def test_an_unknown_user(kubeconfig: Path, server: Answering) -> None:
    server.answers["/version"] = (401, {"message": "Unauthorized"})
    assert messages() == [f"the Kubernetes API at {server.address} does not accept your credentials"]


def test_another_server_takes_over(kubeconfig: Path, server: Answering, tmp_path: Path, monkeypatch: Any) -> None:
    with answering({"/version": (503, {"message": "etcdserver: no leader"})}) as broken:
        other = written(tmp_path / "other", broken.address, monkeypatch)
        api = KubernetesApi([str(other), str(kubeconfig)])
        assert api.get("/version") == {"gitVersion": "v1.31.4"}
        assert api.host == server.address
        assert len(broken.received) == 1
        with pytest.raises(Unreachable, match="does not work: etcdserver: no leader"):
            KubernetesApi([str(other)]).get("/version")


def test_a_refusal_is_final(kubeconfig: Path, server: Answering) -> None:
    server.answers["/secret"] = (403, {"message": 'secrets is forbidden: User "me" cannot list'})
    with pytest.raises(Refused, match='secrets is forbidden: User "me" cannot list') as caught:
        KubernetesApi([str(kubeconfig)] * 2, patience_s=3600).get("/secret")
    assert caught.value.status == 403
    assert [request for request, _ in server.received] == ["GET /secret"]


def test_deleting_what_is_not_there_is_no_error(kubeconfig: Path, server: Answering) -> None:
    KubernetesApi([str(kubeconfig)]).delete("/api/v1/namespaces/gone")
    assert [request for request, _ in server.received] == ["DELETE /api/v1/namespaces/gone"]


@pytest.mark.parametrize(
    ("version", "kind", "namespace", "path"),
    [
        ("v1", "Namespace", None, "/api/v1/namespaces/x"),
        ("v1", "Service", "n", "/api/v1/namespaces/n/services/x"),
        ("apps/v1", "StatefulSet", "n", "/apis/apps/v1/namespaces/n/statefulsets/x"),
    ],
)
def test_where_objects_lie(version: str, kind: str, namespace: str | None, path: str) -> None:
    meta = {"name": "x", **({"namespace": namespace} if namespace else {})}
    assert path_of({"apiVersion": version, "kind": kind, "metadata": meta}) == path


def test_a_context_that_is_gone(kubeconfig: Path) -> None:
    with pytest.raises(PreflightError, match=r"is no usable kubeconfig: .*yours"):
        KubernetesApi([str(kubeconfig)], context="yours")
