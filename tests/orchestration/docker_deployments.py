"""Deployments that tests of Compose and Swarm render, and what Docker's own validator says of the files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.applications import catalogue
from loadstone.model.application import Resources
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import parse
from tests.support import applications

SCALINGS = ("baseline", "vertical", "horizontal", "unlimited")
FOREIGN = """\
name: foreign
entry: {service: web, port: main}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "registry.example.org/web:2"}
    ports: {main: 8080, admin: 9000}
    needs: [db]
    entrypoint: [/bin/web, --name]
    command: ["$HOSTNAME"]
    environment: {GREETING: "it costs ${PRICE} $5"}
    configs: {/etc/web/main.conf: "one $TWO\\n", /srv/main.conf: x}
    volumes: [/data, /cache]
    resources: {cpu: 1.5, memory: 1GiB}
    readiness: {port: admin, http: /health}
  db: {tier: storage, runs: {image: "db:1"}, ports: {sql: 5432}, replicas: 2}
  job: {tier: logic, runs: {image: "job:1"}}
workloads:
  get: {operations: {get: {path: /}}}
"""


def nodes(workers: int = 3, **changes: Any) -> list[Node]:
    """A client, a manager and workers; ``changes`` of the workers."""
    client = Node(name="client", role="client", address="198.18.0.1", cpus=(0,), memory=2**33)
    manager = client.model_copy(update={"name": "manager-1", "role": "manager", "address": "198.18.0.2"})
    return [
        client,
        manager,
        *(
            client.model_copy(
                update={"name": f"worker-{n}", "role": "worker", "address": f"198.18.0.{n + 2}", **changes}
            )
            for n in range(1, workers + 1)
        ),
    ]


def hotel(
    workers: int = 3, resources: dict[str, Resources] | None = None, name: str = "hotel", **settings: Any
) -> Deployment:
    """Hotel Reservation."""
    application = applications.load("hotel-reservation").application
    there = nodes(workers)
    return resolve(application, Settings.model_validate(settings), there, resources or {}, catalogue.software(), name)


def foreign(there: list[Node] | None = None) -> Deployment:
    """An application of images that are not ours."""
    return resolve(parse(FOREIGN), Settings(), there or nodes(1), {}, catalogue.software(), "foreign")


def tree(files: dict[str, str], name: str) -> dict[str, Any]:
    """A rendered file as data."""
    data: dict[str, Any] = yaml.load(files[name], yaml.CSafeLoader)
    return data


def accepted(folder: Path, name: str) -> None:
    """``docker-compose config`` takes the file."""
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed")
    done = subprocess.run(
        ["docker-compose", "--file", name, "config", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    assert done.returncode == 0, done.stderr


def written(folder: Path, files: dict[str, str]) -> Path:
    """The files in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
