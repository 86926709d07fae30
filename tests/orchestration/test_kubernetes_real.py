"""Kubernetes for real, on emulated hosts: one manager and two workers that all tests share."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.applications import catalogue
from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access, Provision
from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.failover import Refused
from loadstone.infrastructure.kubernetes_api import KubernetesApi, connect
from loadstone.model.cluster import Cluster
from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.model.errors import DeploymentError
from loadstone.model.study import Settings
from loadstone.orchestration.kubernetes import Kubernetes
from loadstone.orchestration.resolve import resolve
from tests.infrastructure.real_engines import registry
from tests.orchestration import foreign_files, rendered
from tests.orchestration.conftest import STORES, parse
from tests.orchestration.pinned import GOLDEN
from tests.support import groups
from tests.support.applications import SMALL, with_patience
from tests.support.audits import complete
from tests.support.clusters import Shared, SharedClusters

pytestmark = [pytest.mark.root, pytest.mark.kubernetes, pytest.mark.timeout(1800)]

STUDY = """\
version: 1
name: on-kubernetes
application: hotel-reservation
orchestrator: kubernetes
cluster: {infrastructure: existing}
placement: {tiers: {frontend: [worker-2]}}
resources: RESOURCES
load: {rates: [20], slo: {p99: 10s}, timeout: 20s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 3s}
"""


@pytest.fixture
def shared(shared_clusters: SharedClusters, place: Path) -> Shared:
    return shared_clusters("kubernetes")


@pytest.fixture
def cluster(shared: Shared) -> Provision:
    return shared.provision


@pytest.fixture
def access(cluster: Provision) -> Access:
    assert cluster.access is not None
    return cluster.access


@pytest.fixture
def api(access: Access) -> KubernetesApi:
    return connect(access)


@pytest.fixture
def small(cluster: Provision, access: Access, tmp_path: Path) -> Iterator[Kubernetes]:
    """Two services, not started yet; removed when the test ends."""
    images.deliver(access, ["stone", "memcached"])
    application = parse(SMALL.replace("STONE", images.reference("stone", access)))
    made = Kubernetes(deployment(application, cluster), tmp_path / "run", access)
    yield made
    made.remove()
    assert pods(connect(access), "small") == []


def deployment(application: Any, cluster: Provision) -> Deployment:
    settings = Settings.model_validate({"orchestrator": "kubernetes"})
    return resolve(with_patience(application), settings, list(cluster.nodes), {}, catalogue.software(), "small")


def pods(api: KubernetesApi, namespace: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in api.items(f"/api/v1/namespaces/{namespace}/pods")]


def found(orchestrator: Kubernetes) -> dict[str, FoundReplica]:
    return {replica.name: replica for replica in orchestrator._find()}


PINNED = sorted(file.parent for file in GOLDEN.glob("kubernetes/*/namespace.yaml"))
SETS = [
    # These differ from the baseline's in numbers alone.
    pytest.param(*each, marks=pytest.mark.long) if each[1] in ("vertical", "horizontal") else each
    for each in (*rendered.PINNED_SETS, *rendered.SETS)
]


@pytest.mark.parametrize("folder", PINNED, ids=lambda folder: folder.name)
def test_every_pinned_file_is_accepted(folder: Path, api: KubernetesApi, access: Access) -> None:
    files = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*.yaml")}
    assert len(files) > 1
    accepted(files, api, access)


@pytest.mark.parametrize(("application", "scaling"), SETS)
def test_every_application_s_files_are_accepted(
    application: str, scaling: str, api: KubernetesApi, access: Access
) -> None:
    accepted(rendered.files(rendered.deployment(application, "kubernetes", scaling=scaling), "kubernetes"), api, access)


@pytest.mark.parametrize("file", ["every_construct", "shop"])
def test_files_of_foreign_compose_files_are_accepted(
    file: str, api: KubernetesApi, access: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_ROOT_PASSWORD", "anything")
    compose = str(foreign_files.constructs(tmp_path)) if file == "every_construct" else foreign_files.socks(tmp_path)
    accepted(rendered.files(foreign_files.deployment(compose, "kubernetes"), "kubernetes"), api, access)


def accepted(files: dict[str, str], api: KubernetesApi, access: Access) -> None:
    """The cluster would take all files of a deployment; nothing of it stays."""
    namespace = yaml.safe_load(files["namespace.yaml"])
    name = namespace["metadata"]["name"]
    api.apply(namespace)
    manifests = [each for text in files.values() for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"]
    kinds = [api.apply(manifest, dry_run=True)["kind"] for manifest in manifests]
    assert {"Deployment", "Service"} <= set(kinds)
    assert pods(api, name) == []
    Kubernetes._delete(access, name)
    with pytest.raises(Refused, match="not found"):
        api.get(f"/api/v1/namespaces/{name}")


def test_a_deployment_s_life(small: Kubernetes) -> None:
    small.apply(stores_only=True)
    small.ready(stores_only=True)
    assert list(found(small)) == ["cache-1"]
    small.apply()
    small.ready()
    small.apply()  # changes nothing
    assert small.events() == []
    assert small.audit() and [row for row in small.audit() if not row.ok] == []
    assert {row.what for row in small.audit()} == {"cpu", "memory", "cores", "node", "environment", "kernel", "image"}
    assert set(small.usage()) == {"web-1", "cache-1"}
    assert small.logs().keys() == {"web-1", "cache-1"} and small.logs("web")["web-1"]
    assert _seen_by(found(small)["web-1"], "/etc/web/main.conf") == "one {{ two }}\nthree\n"
    assert small.versions()["kubernetes"] == "1.31.4"

    _lift_limit(found(small)["web-1"])
    (wrong,) = [row for row in small.audit() if not row.ok]
    assert (wrong.replica, wrong.what, wrong.wanted, wrong.effective) == ("web-1", "cpu", "0.2", "unlimited")

    for service, replicas in (("web", 3), ("cache", 2)):
        small.scale(service, replicas)
    until(lambda: [each.healthy for each in small._find()] == [True] * 5)
    for address in {address for each in small._find() for address in each.addresses.values()}:
        until(lambda address=address: _accepts(address))
    assert len(small.inner("cache", "memcached")) == 2
    assert {each.service for each in small._find() if each.addresses} == {"web"}, "no store is open on nodes"
    small.scale("web", 1)
    small.scale("cache", 1)
    until(lambda: len(small._find()) == 2)


def test_a_replica_that_ends_is_an_event(small: Kubernetes) -> None:
    small.apply()
    small.ready()
    groups.kill(groups.of_container(found(small)["web-1"].container))
    until(lambda: "exit code 137" in str(small.events()))
    until(lambda: found(small)["web-1"].healthy)  # restarted
    (event,) = small.events()
    assert event == "web-1 was replaced: its container ended, exit code 137"


def test_an_image_that_is_missing(small: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Kubernetes(_with_image(small.deployment, "loadstone/none:1"), small.folder, small.access)
    monkeypatch.setattr(images, "deliver", lambda *_: {})
    broken.apply()
    with pytest.raises(DeploymentError, match=r"web-1 cannot be started: ErrImageNeverPull: .*loadstone/none:1"):
        broken.ready()


def test_no_node_has_room(small: Kubernetes, api: KubernetesApi) -> None:
    for node in ("worker-1", "worker-2"):
        api.merge(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
    try:
        with pytest.raises(DeploymentError, match=r"cannot be started: no node may run it: 0/2 nodes are available"):
            small.apply()  # what the second service needs is not ready
    finally:
        for node in ("worker-1", "worker-2"):
            api.merge(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": None}})


def test_what_the_cluster_refuses_is_reported(small: Kubernetes, api: KubernetesApi) -> None:
    small._create([])
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "small"}}
    api.apply(quota | {"spec": {"hard": {"limits.cpu": "100m"}}})
    until(lambda: "hard" in api.get("/api/v1/namespaces/small/resourcequotas/small").get("status", {}))
    small.prepare(print)
    small._create(list(small.deployment.services()))
    until(lambda: len(small._find()) == 2)
    assert all("exceeded quota: small, requested: limits.cpu=" in each.why for each in small._find())


def test_nodes_pull_from_the_user_s_registry(shared: Shared, place: Path, tmp_path: Path) -> None:
    """A node names an image that it has pulled by its digest in the registry, also where it is loaded."""
    cluster, access = shared.provision, shared.access
    folder = place / "pulled"
    folder.mkdir()
    with registry(folder, cluster.nodes[0].address) as host:
        shared.trust(host)
        pulling = replace(access, registry=f"http://{host}/lab", engines={})
        for way in (access, pulling, access):
            made = Kubernetes(deployment(parse(STORES), cluster), tmp_path / "run", way)
            try:
                made.apply(stores_only=True)
                made.ready(stores_only=True)
                assert [row for row in made.audit() if not row.ok] == []
                assert len([row for row in made.audit() if row.what == "image"]) == 3
            finally:
                made.remove()


def test_a_namespace_of_another_program_is_left_alone(small: Kubernetes, api: KubernetesApi, access: Access) -> None:
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "small"}})
    with pytest.raises(DeploymentError, match="a namespace 'small' that Loadstone did not make"):
        small.apply()
    Kubernetes._delete(access, "small")
    assert api.get("/api/v1/namespaces/small")["status"]["phase"] == "Active"
    api.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "small", "labels": {"loadstone.deployment": "small"}},
        }
    )


def test_a_study_on_the_cluster_that_is_there(shared: Shared, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, access = shared.provision, shared.access
    monkeypatch.setenv("KUBECONFIG", access.addresses[0])
    for variable, folder in (("LOADSTONE_STATE", "state"), ("LOADSTONE_DATA", "data")):  # its journal knows the hosts
        monkeypatch.setenv(variable, str(shared.place / folder))
    mine = Existing(Cluster(infrastructure="existing"), "unused").provide("kubernetes", 1, print)
    assert [node.model_dump(exclude={"memory"}) for node in mine.nodes] == [
        node.model_dump(exclude={"memory"}) for node in cluster.nodes
    ]
    assert mine.access is not None and mine.access.engines == access.engines

    limits = {
        name: {"cpu": 0.2, "memory": "128MiB"} for name in catalogue.load("hotel-reservation").application.services
    }
    (place / "study.yaml").write_text(STUDY.replace("RESOURCES", json.dumps(limits)))
    run = subprocess.run(
        [Path(sys.executable).parent / "loadstone", "run", "study.yaml"],
        cwd=place, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    (trial,) = place.glob("results/*/*/trials/*")
    rows = json.loads((trial / "audit.json").read_text())
    assert complete(rows, 22)
    assert {row["effective"] for row in rows if row["what"] == "cpu"} == {"0.2"}
    assert {row["node"] for row in rows if row["replica"] == "frontend-1"} == {"worker-2"}
    namespaces = [each["metadata"]["name"] for each in connect(access).items("/api/v1/namespaces")]
    assert [name for name in namespaces if not name.startswith(("kube-", "default"))] == []


def until(condition: Any) -> None:
    """Until it holds; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.1)


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
        return True
    except OSError:
        return False


def _seen_by(each: FoundReplica, file: str) -> str:
    """A file as a replica sees it."""
    pid = min(groups.processes(groups.of_container(each.container)))
    return Path(f"/proc/{pid}/root{file}").read_text()


def _lift_limit(each: FoundReplica) -> None:
    """Switch the CPU quota off, of the container and of the pod around it."""
    container = groups.of_container(each.container)
    groups.lift([place.parent for place in container], "cpu")
    groups.lift(container, "cpu")


def _with_image(deployment: Deployment, image: str) -> Deployment:
    replicas = [each.model_copy(update={"image": image}) if each.image else each for each in deployment.replicas]
    whats = {what: name for what, name in deployment.images.items() if what != deployment.replicas[-1].image}
    return deployment.model_copy(update={"replicas": tuple(replicas), "images": whats | {image: image}})
