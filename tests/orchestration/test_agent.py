"""Nodes that are elsewhere: what a deployment on them needs, and the error when none answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

import loadstone
from loadstone.infrastructure.machines import this_machine
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import InForce, Standing
from loadstone.orchestration import agent, containers
from loadstone.orchestration.containers import SERVICE_LABEL
from loadstone.orchestration.kubernetes import Kubernetes
from loadstone.orchestration.limits_reader import Reader
from tests.orchestration.conftest import deployed, parse, two_nodes
from tests.orchestration.fake_containers import Fake
from tests.support.standings import facts, standing, used

FOREIGN = """\
name: foreign
entry: {service: web, port: main}
default_workload: get
services:
  web: {tier: frontend, runs: {image: nginx}, ports: {main: 80}, resources: {cpu: 0.5}}
workloads:
  get: {operations: {get: {path: /}}}
"""


WITH_STORE = FOREIGN.replace(
    "workloads:", "  cache: {tier: caching, runs: {software: memcached}, resources: {cpu: 0.5}}\nworkloads:"
)
FAR = {"software": "kubernetes", "node": "worker-1", "kubeconfig": "~/.kube/config"}


def nodes(here: bool) -> list[Node]:
    client, worker = two_nodes()
    reach = Reach() if here else Reach(transport="exec", options=FAR)
    return [client, worker.model_copy(update={"reach": reach})]


def deployment(here: bool = False) -> Deployment:
    return deployed(parse(FOREIGN), nodes(here))


def with_client_nodes(application: str = FOREIGN) -> Deployment:
    """Two nodes of the cluster generate the load, one runs replicas."""
    _, worker = nodes(here=False)
    clients = [worker.model_copy(update={"name": f"load-{n}", "role": "client"}) for n in (1, 2)]
    return deployed(parse(application), [*clients, worker])


class Fixed(Reader):
    """Reads the same of each."""

    def __init__(self, standing: Standing) -> None:
        super().__init__([])
        self.standing = standing

    def read(self, found: Sequence[FoundReplica], *_: object) -> dict[str, Standing]:
        return {each.name: self.standing for each in found}

    def facts(self, found: Sequence[FoundReplica]) -> dict[str, Facts]:
        return {each.node: facts(boot=this_machine().boot) for each in found}

    def new_peaks(self, found: Sequence[FoundReplica]) -> bool:
        return True


def test_a_container_waits_where_a_worker_is_reached_through_its_cluster() -> None:
    here, elsewhere = deployment(here=True), deployment(here=False)
    assert agent.nodes(here) == []
    assert [node.name for node in agent.nodes(elsewhere)] == ["worker-1"]
    assert "stone" not in here.images
    assert elsewhere.images["stone"] == f"loadstone/stone:{loadstone.__version__}"  # though no service runs it


def test_ready_waits_for_machines_and_names_the_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roles: list[str] = []

    def unreachable(self: Reader, role: str) -> dict[str, str]:
        roles.append(role)
        return {"worker-1": "worker-1: no pod of loadstone-agent runs there"} if roles[3:] else {}

    monkeypatch.setattr(Reader, "unreachable", unreachable)
    monkeypatch.setattr(containers, "_MACHINES_WITHIN_S", 0)
    fake = Fake(deployment(), tmp_path)
    fake.ready(stores_only=True)
    assert roles == [], "without stores nothing is seeded"
    fake.ready()
    assert roles == ["client", "worker"]
    with pytest.raises(DeploymentError) as raised:
        fake.ready()
    assert "limits cannot be read back:\n  worker-1: no pod of loadstone-agent runs there" in str(raised.value)
    assert "  no node may run it" in str(raised.value)


def test_a_client_of_the_cluster_that_is_not_installed_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Fake(deployment(here=True), tmp_path).preflight() == []
    monkeypatch.setenv("PATH", str(tmp_path))
    findings = Fake(deployment(here=False), tmp_path).preflight()
    assert ("error", "kubectl is not installed") in [(each.level, each.message.partition(":")[0]) for each in findings]


def test_what_cannot_be_read_any_more_is_an_event_and_a_mismatch(tmp_path: Path) -> None:
    fake = Fake(deployment(here=True), tmp_path)
    usage, limits = used(oom_kills=0), InForce(cpu=0.5, memory=None, cores=(1,))
    fake._reader = Fixed(standing(limits, usage))
    fake.ready()
    assert fake.events() == [] and fake.usage() == {"web-1": usage} and fake.new_peaks()
    assert all(row.ok for row in fake.audit())
    silence = "the agent of worker-1 at 127.0.0.1:9620 does not answer: timed out"
    fake._reader = Fixed(Standing.nothing(silence))
    assert fake.events() == [f"what web-1 does cannot be read any more: {silence}"] and fake.usage() == {}
    assert [(row.what, row.wanted, row.effective, row.ok) for row in fake.audit()] == [
        ("container", "running", silence, False)
    ]
    fake._reader = Fixed(standing(limits, used(oom_kills=2)))
    assert fake.events() == ["web-1 ran out of memory: the kernel killed 2 of its processes"]


def test_on_kubernetes_it_is_a_daemonset_of_the_workers_elsewhere(tmp_path: Path) -> None:
    assert "agent.yaml" not in Kubernetes(deployment(here=True), tmp_path).render()
    text = Kubernetes(deployment(here=False), tmp_path).render()["agent.yaml"]
    spec = yaml.safe_load(text)["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert yaml.safe_load(text)["kind"] == "DaemonSet" and pod["hostNetwork"]
    assert SERVICE_LABEL not in spec["template"]["metadata"]["labels"]  # it is no replica
    assert "values: [worker-1]" in text
    assert container["args"] == ["wait"] and "ports" not in container
    assert [mount.get("readOnly") for mount in container["volumeMounts"]] == [True, True, None]
    paths = {volume["name"]: volume.get("hostPath", {}).get("path") for volume in pod["volumes"]}
    assert paths == {"proc": "/proc", "sys": "/sys", "tmp": None}
    assert "limits" not in container["resources"] and container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_nodes_of_kubernetes_that_generate_load_run_no_replicas(tmp_path: Path) -> None:
    made = with_client_nodes()
    assert [node.name for node in agent.nodes(made)] == ["load-1", "load-2", "worker-1"]
    files = Kubernetes(made, tmp_path).render()
    assert "values: [load-1, load-2, worker-1]" in files["agent.yaml"]
    pod = yaml.safe_load(files["agent.yaml"])["spec"]["template"]["spec"]
    assert pod["tolerations"] == [{"key": "loadstone.role", "operator": "Exists"}]
    assert [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"] if not mount.get("readOnly")] == [
        "/tmp"
    ], "load workers keep their files there"
    assert "{key: kubernetes.io/hostname, operator: NotIn, values: [load-1, load-2]}" in files["services/web.yaml"]
    placed = made.model_copy(update={"allowed": {"web": ("worker-1",)}})
    assert "operator: In, values: [worker-1]" in Kubernetes(placed, tmp_path).render()["services/web.yaml"]


def test_stores_are_seeded_once_the_clients_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reader, "unreachable", lambda _self, role: {"load-1": f"no {role}"} if role == "client" else {})
    monkeypatch.setattr(containers, "_MACHINES_WITHIN_S", 0)
    monkeypatch.setattr(containers.Containers, "_await", lambda *_: None)
    with pytest.raises(DeploymentError, match=r"stores cannot be seeded:\n  no client\n  no node may run it"):
        Fake(with_client_nodes(WITH_STORE), tmp_path).ready(stores_only=True)
    with pytest.raises(DeploymentError, match="load cannot be generated:"):
        Fake(with_client_nodes(), tmp_path).ready()
