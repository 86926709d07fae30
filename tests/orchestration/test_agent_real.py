"""Limits and counters of nodes that are reached by the client of their cluster alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone import plugins
from loadstone.infrastructure import builds, images
from loadstone.infrastructure.software.nomad import credentials, settings
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import FoundReplica
from loadstone.model.load import Load
from loadstone.model.observing import Metrics
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.observed import Observed
from loadstone.monitoring.nodes import Nodes
from loadstone.orchestration.containers import Containers
from loadstone.workloads.base import Offer
from loadstone.workloads.members import members
from loadstone.workloads.stone import Stone
from tests.orchestration.conftest import deployed, parse
from tests.support import groups
from tests.support.applications import with_patience
from tests.support.clusters import ON_CLUSTERS, Shared, SharedClusters, cluster_of

pytestmark = pytest.mark.root

CACHES = """\
name: caches
entry: {service: cache, port: main}
default_workload: get
services:
  cache:
    tier: caching
    runs: {software: memcached}
    ports: {main: 11211}
    replicas: 2
    resources: {cpu: 0.3, memory: 64MiB}
workloads:
  get: {operations: {get: {path: /}}}
"""

WEB = """\
name: web
entry: {service: web, port: main}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "STONE"}
    command: [echo, --listen, "0.0.0.0:8080"]
    ports: {main: 8080}
    resources: {cpu: 0.2, memory: 64MiB}
workloads:
  get: {operations: {get: {path: /}}}
"""


def as_existing(cluster: Shared, orchestrator: str, node: Node) -> Reach:
    """The way to a worker that nothing but its cluster leads to."""
    access = cluster.access
    options = {
        "compose": {"software": "docker", "url": access.engines.get(node.name, "")},
        "swarm": {"software": "docker", "url": access.engines.get(node.name, "")},
        "nomad": {"software": "nomad", "node": node.name, "address": access.addresses[0]},
        "kubernetes": {"software": "kubernetes", "node": node.name, "kubeconfig": access.addresses[0]},
    }
    return Reach(transport="exec", options=options[orchestrator])


@pytest.fixture(params=ON_CLUSTERS)
def cluster(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> Iterator[tuple[str, Shared]]:
    """An orchestrator's name and its cluster, on whose nodes agents may mount folders, as on those of users."""
    if request.param != "nomad":
        yield request.param, shared_clusters(request.param)
        return
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(settings.Configuration, "client", _with_volumes(settings.Configuration.client))
        yield request.param, stack.enter_context(cluster_of(request.param))


def _with_volumes(client: Callable[..., settings.Settings]) -> Callable[..., settings.Settings]:
    """Nomad's client with the docker plugin's volumes enabled."""

    def changed(*arguments: Any) -> settings.Settings:
        made = client(*arguments)
        made["plugin"]["docker"]["config"]["volumes"] = {"enabled": True}
        return made

    return changed


@pytest.fixture
def far(
    cluster: tuple[str, Shared], own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Shared, list[Node]]:
    """A cluster with its nodes, whose workers are reached through it alone."""
    name, there = cluster
    if name == "nomad":
        monkeypatch.setenv("PATH", str(builds.binary("nomad", print).parent), prepend=os.pathsep)
        for variable, value in credentials.load(there.access).items():
            monkeypatch.setenv(variable, value)
    nodes = [
        node.model_copy(update={"reach": as_existing(there, name, node)}) if node.role == "worker" else node
        for node in there.provision.nodes
    ]
    return name, there, nodes


@pytest.fixture
def orchestrator(
    far: tuple[str, Shared, list[Node]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Containers]:
    """Two caches on workers whose machines are reached through their cluster alone."""
    name, there, nodes = far
    monkeypatch.setattr(Containers, "_wait_for_entry", lambda *_: None)  # memcached speaks no HTTP
    deployment = deployed(with_patience(parse(CACHES)), nodes, f"agents-{os.getpid()}")
    made: Containers = plugins.find("orchestrators", name)(deployment, tmp_path / "run", there.access)
    yield made
    made.remove()


def on_this_machine(orchestrator: Containers) -> Containers:
    """The same deployment, its nodes being what they are: this machine."""
    nodes = tuple(node.model_copy(update={"reach": Reach()}) for node in orchestrator.deployment.nodes)
    deployment = orchestrator.deployment.model_copy(update={"nodes": nodes})
    here = type(orchestrator)(deployment, orchestrator.folder, orchestrator.access)
    here._image_ids = orchestrator._image_ids
    return here


def without_kernels(rows: list[AuditRow]) -> list[AuditRow]:
    """Only an audit on this machine knows whose kernel a node has."""
    return [row for row in rows if row.what != "kernel"]


def test_limits_and_counters_through_the_cluster_s_own_client(orchestrator: Containers, tmp_path: Path) -> None:
    orchestrator.apply()
    orchestrator.ready()
    here = on_this_machine(orchestrator)
    collector = Nodes(Metrics(period=0.1), orchestrator.deployment.nodes[0])
    collector.begin(orchestrator, tmp_path)
    rows, usage = orchestrator.audit(), orchestrator.usage()
    assert {row.what for row in rows} >= {"cpu", "memory", "cores", "node"}
    assert [row for row in rows if not row.ok] == []
    assert usage.keys() == {"cache-1", "cache-2"} and all(used.pids >= 1 for used in usage.values())
    assert orchestrator.events() == []
    assert without_kernels(here.audit()) == rows
    assert not orchestrator.new_peaks()  # what a container has mounted is read-only
    assert collector.end(Observed(nodes={}, replicas={}), None).problems == ()
    table = pq.read_table(tmp_path / "metrics.parquet", columns=["node", "subject"]).to_pylist()
    recorded = {(row["node"], row["subject"]) for row in table if row["subject"].startswith("replica:")}
    assert recorded == {(node, f"replica:{name}") for name, node in orchestrator.nodes().items()}

    switch_memory_limit_off(here._find()[0])
    assert [(row.replica, row.what) for row in orchestrator.audit() if not row.ok] == [("cache-1", "memory")]
    assert orchestrator.audit() == without_kernels(here.audit())


def switch_memory_limit_off(found: FoundReplica) -> None:
    """Its container's limit, and that of what Kubernetes puts around it."""
    container = groups.of_container(found.container)
    groups.lift(container, "memory")
    groups.lift([place.parent for place in container], "memory")


@pytest.mark.parametrize("cluster", ON_CLUSTERS[1:], indirect=True)
def test_a_client_node_of_the_cluster_generates_the_load(far: tuple[str, Shared, list[Node]], tmp_path: Path) -> None:
    name, there, (_, manager, worker, other) = far
    client = other.model_copy(update={"role": "client"})
    application = with_patience(parse(WEB.replace("STONE", images.reference("stone", there.access))))
    deployment = deployed(application, [client, manager, worker], f"clients-{os.getpid()}")
    made: Containers = plugins.find("orchestrators", name)(deployment, tmp_path / "run", there.access)
    (tmp_path / "out").mkdir()
    try:
        made.apply()
        made.ready()
        assert set(made.nodes().values()) == {worker.name}
        load = Load.model_validate({"rates": [50], "slo": {"p99": "1s"}, "connections": 4})
        clients = [node for node in made.deployment.nodes if node.role == "client"]
        offer = Offer(
            targets=tuple(made.addresses("web", "main")), workload=application.workloads["get"], load=load, rate=50,
            clients=None, warmup_s=0.5, duration_s=2, seed=1, may_stop=False, cpus=(), folder=tmp_path / "out",
            members=members(load, clients),
        )  # fmt: skip
        summary = Stone().run(offer, lambda _event: None)
    finally:
        made.remove()
    assert [each.name for each in summary.generator.workers] == [client.name]
    assert summary.counts.completed == summary.counts.offered and summary.counts.offered
