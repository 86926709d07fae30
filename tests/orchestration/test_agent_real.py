"""Limits on nodes that are said to be elsewhere, read through the agents that each orchestrator runs there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from loadstone import plugins
from loadstone.infrastructure import cgroup
from loadstone.infrastructure.software.nomad import settings
from loadstone.model.deployment import Found
from loadstone.model.records.node import Standing
from loadstone.orchestration import agent
from loadstone.orchestration.containers import Containers
from loadstone.orchestration.reading import Agents, MachineReader
from tests.orchestration.conftest import deployed, parse
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
def orchestrator(
    cluster: tuple[str, Shared],
    own_folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Containers]:
    """Two caches on workers that are said to be elsewhere, so that only agents can tell of them."""
    name, there = cluster
    monkeypatch.setattr(Containers, "_wait_for_entry", lambda *_: None)  # memcached speaks no HTTP
    nodes = [node.model_copy(update={"here": node.role == "client"}) for node in there.provision.nodes]
    deployment = deployed(parse(CACHES), nodes, f"agents-{os.getpid()}")
    made: Containers = plugins.find("orchestrators", name)(deployment, tmp_path / "run", there.access)
    yield made
    made.remove()


def on_this_machine(orchestrator: Containers) -> Containers:
    """The same deployment, its nodes being what they are: this machine."""
    nodes = tuple(node.model_copy(update={"here": True}) for node in orchestrator.deployment.nodes)
    deployment = orchestrator.deployment.model_copy(update={"nodes": nodes})
    here = type(orchestrator)(deployment, orchestrator.folder, orchestrator.access)
    here._image_ids = orchestrator._image_ids
    return here


def test_the_audit_through_agents(orchestrator: Containers, monkeypatch: pytest.MonkeyPatch) -> None:
    orchestrator.apply()
    orchestrator.ready()
    here = on_this_machine(orchestrator)
    with monkeypatch.context() as patch:
        patch.setattr(MachineReader, "read", _refuse)
        rows, usage = orchestrator.audit(), orchestrator.usage()
        assert {row.what for row in rows} >= {"cpu", "memory", "cores", "node"}
        assert [row for row in rows if not row.ok] == []
        assert usage.keys() == {"cache-1", "cache-2"} and all(one.pids == 1 for one in usage.values())
        assert orchestrator.events() == []
    assert here.audit() == rows
    assert not orchestrator.new_peaks()  # what an agent has mounted is read-only

    switch_memory_limit_off(here._find()[0])
    assert [(row.replica, row.what) for row in orchestrator.audit() if not row.ok] == [("cache-1", "memory")]
    assert orchestrator.audit() == here.audit()

    orchestrator.remove()
    silent = Agents(lambda: agent.addresses(orchestrator.deployment)).silent(agent.addresses(orchestrator.deployment))
    assert {why.rpartition(": ")[2] for why in silent.values()} == {"Connection refused"}


def switch_memory_limit_off(found: Found) -> None:
    """Of its container, and of what Kubernetes puts around it."""
    groups = cgroup.find()
    group = groups.container(found.container)
    assert group is not None
    for folder in [*groups.folders(group), *groups.folders(os.path.dirname(group))]:
        for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "memory.max"):
            if (folder / name).exists():
                (folder / name).write_text("max" if name == "memory.max" else "-1")


def _refuse(self: MachineReader, found: Sequence[Found]) -> dict[str, Standing]:
    assert not found, "read on this machine, though its node is said to be elsewhere"
    return {}
