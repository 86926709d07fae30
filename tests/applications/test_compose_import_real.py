"""An imported compose file, deployed for real: its images, limits, files, variables and names."""

from __future__ import annotations

import io
import json
import os
import tarfile
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from loadstone.experiments.deployment import Deployed
from loadstone.infrastructure import images
from loadstone.infrastructure.docker_api import Engine
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from tests.orchestration import docker_clusters
from tests.support.clusters import ON_CLUSTERS, SharedClusters, folders

pytestmark = [pytest.mark.root, pytest.mark.timeout(1200)]

COMPOSE = """\
services:
  web:
    image: STONE
    command: echo --listen 0.0.0.0:8080
    ports: ["8080"]
    environment: {PRICE: "it costs $$5"}
    volumes: ["./conf:/etc/web:ro", "data:/data"]
    depends_on: [cache]
    deploy: {resources: {limits: {cpus: "0.2", memory: 64M}}}
  api: {image: STONE, command: "echo --listen 0.0.0.0:9090", expose: [9090]}
  cache:
    image: MEMCACHED
    command: memcached -t 2 -m 64
    expose: ["11211"]
    mem_limit: 96m
    cpus: 0.3
volumes: {data: {}}
"""
LOAD = {
    "target": "http://api:9090",
    "connections": 1,
    "arrival": {"process": "constant", "rate": 5},
    "duration_s": 1,
    "timeout_s": 60,
    "operations": [{"name": "get", "path": "/costs-$5"}],
}


DOCKER = ON_CLUSTERS[:3]
"""Orchestrators of Docker's containers: their engine reports what these consist of."""


@pytest.fixture(scope="module")
def imported(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> Iterator[Deployed]:
    """All services, ready; their images are ours, loaded in place of the published ones."""
    cluster = shared_clusters(request.param)
    with folders() as place:
        text = COMPOSE.replace("STONE", images.reference("stone")).replace("MEMCACHED", images.reference("memcached"))
        (place / "conf").mkdir()
        (place / "conf" / "load.json").write_text(json.dumps(LOAD))
        (place / "docker-compose.yml").write_text(text)
        more = {"application": str(place / "docker-compose.yml"), "resources": {}}
        more["cluster"] = {"infrastructure": "namespaces"}
        plan = docker_clusters.plan_of(docker_clusters.study(f"test-import-{os.getpid()}", request.param, **more))
        images.deliver(cluster.access, ["stone", "memcached"])
        made = docker_clusters.deploy(plan, cluster.provision, place / "run")
        try:
            yield made
        finally:
            made.remove()


def container(deployed: Deployed, service: str) -> Any:
    """The container of a service, as its engine describes it."""
    access = deployed.orchestrator.access
    assert access is not None
    labels = [f"{LABEL}={deployed.deployment.name}", f"{SERVICE_LABEL}={service}"]
    for url in access.engines.values():
        api = Engine(url).api
        for item in api.containers(filters={"label": labels}):
            return api, api.inspect_container(item["Id"])
    raise AssertionError(f"no container of {service}")


@pytest.mark.parametrize("imported", ON_CLUSTERS, indirect=True)
def test_its_front_answers(imported: Deployed) -> None:
    (target,) = imported.targets()
    with urllib.request.urlopen(f"http://{target}/", timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("imported", ON_CLUSTERS, indirect=True)
def test_its_limits_are_in_force(imported: Deployed) -> None:
    rows = imported.orchestrator.audit()
    assert [(row.replica, row.what, row.wanted, row.effective) for row in rows if not row.ok] == []
    memory = {row.replica: row.effective for row in rows if row.what == "memory"}
    assert memory == {"web-1": "64MiB", "cache-1": "96MiB", "api-1": "unlimited"}


@pytest.mark.parametrize("imported", DOCKER, indirect=True)
def test_its_command_and_variables_are_those_of_the_compose_file(imported: Deployed) -> None:
    _, result = container(imported, "web")
    assert result["Config"]["Cmd"] == ["echo", "--listen", "0.0.0.0:8080"]
    assert "PRICE=it costs $5" in result["Config"]["Env"]


@pytest.mark.parametrize("imported", ON_CLUSTERS[:2], indirect=True)
def test_its_volumes_are_those_of_the_compose_file(imported: Deployed) -> None:
    _, result = container(imported, "web")
    assert "/data" in [item["Destination"] for item in result["Mounts"]]


@pytest.mark.parametrize("imported", DOCKER, indirect=True)
def test_services_find_their_files_and_each_other_by_name(imported: Deployed) -> None:
    assert imported.deployment.of("web")[0].needs == ("cache", "api")  # the second by its address in a mounted file
    api, result = container(imported, "web")
    command = ["/stone", "load", "--plan", "/etc/web/load.json", "--out", "/data/found"]
    requested = api.exec_create(result["Id"], command, user="root")["Id"]
    text = api.exec_start(requested)
    assert api.exec_inspect(requested)["ExitCode"] == 0, text
    found, _ = api.get_archive(result["Id"], "/data/found/summary.json")
    with tarfile.open(fileobj=io.BytesIO(b"".join(found))) as archive:
        summary = json.load(archive.extractfile("summary.json") or io.BytesIO())
    assert [(item["name"], item["all"]["completed"]) for item in summary["operations"]] == [("get", 5)]
