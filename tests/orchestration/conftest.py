"""A small application of real stores, deployed in folders of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.infrastructure.local import Local
from loadstone.infrastructure.machines import this_machine
from loadstone.model.application import Application
from loadstone.model.cluster import Cluster, Node
from loadstone.model.deployment import Deployment
from loadstone.model.document import Document
from loadstone.model.study import Settings
from loadstone.orchestration.process import Process
from loadstone.orchestration.resolve import resolve
from tests.support.clusters import folders

STORES = """\
name: stores
entry: {service: cache, port: main}
default_workload: get
services:
  cache:
    tier: caching
    runs: {software: memcached}
    ports: {main: 11211}
    needs: [documents, queue]
    resources: {cpu: 0.5, memory: 64MiB}
  queue: {tier: caching, runs: {software: redis}, resources: {cpu: 0.5, memory: 64MiB}}
  documents: {tier: storage, runs: {documents: true}, resources: {cpu: 1, memory: 128MiB}}
workloads:
  get: {operations: {get: {path: /}}}
"""

SERVICES = """\
name: services
entry: {service: frontend, port: http}
default_workload: get
services:
  frontend:
    tier: frontend
    runs: {stone: hotel/frontend}
    ports: {http: 5000, admin: 9000}
    needs: [geo]
    resources: {cpu: 0.5, memory: 64MiB}
  geo:
    tier: logic
    runs: {stone: hotel/geo}
    ports: {admin: 9083, grpc: 8083}
    needs: [memcached-geo, documents-geo]
    resources: {cpu: 0.25, memory: 32MiB}
  memcached-geo: {tier: caching, runs: {software: memcached}}
  documents-geo: {tier: storage, runs: {documents: true}}
workloads:
  get: {operations: {get: {path: /}}}
"""


def parse(text: str) -> Application:
    """An application file's text as an application."""
    return Document(text, "application.yaml").parse(Application)


def two_nodes(cores: int = 1) -> list[Node]:
    """A client and a worker with so many cores, as data."""
    return [
        Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**33),
        Node(name="worker-1", role="worker", address="127.0.0.1", cpus=tuple(range(1, cores + 1)), memory=2**33),
    ]


def deployed(application: Application, nodes: list[Node], name: str = "test", **settings: str) -> Deployment:
    """An application resolved for some settings."""
    return resolve(application, Settings.model_validate(settings), nodes, {}, catalogue.software(), name)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """State and data of a module's tests."""
    with folders() as folder:
        yield folder


@pytest.fixture
def control_groups() -> None:
    """Skips where no limits can be set."""
    if why := this_machine().facts().unlimited_because:
        pytest.skip(why)


@pytest.fixture
def stores(own_folders: Path, tmp_path: Path) -> Iterator[Process]:
    """Three real stores, not started yet; removed when the test ends."""
    for program in ("memcached", "redis-server"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    deployment = deployed(parse(STORES), Local(Cluster()).sketch("process", 0), f"test-{os.getpid()}")
    process = Process(deployment, tmp_path / "run")
    if any(finding.level == "error" for finding in process.preflight()):
        pytest.skip(f"needs stores: {process.preflight()}")
    yield process
    process.remove()
