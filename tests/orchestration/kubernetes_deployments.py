"""Deployments that tests of Kubernetes render."""

from __future__ import annotations

from typing import Any

from loadstone.applications import catalogue
from loadstone.model.application import Resources
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import parse
from tests.support import applications

FOREIGN = """\
name: foreign
entry: {service: web, port: main}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "registry.example.org/web:2"}
    ports: {main: 8080}
    entrypoint: [/bin/web, --name]
    command: [$(HOSTNAME)]
    environment: {GREETING: "it costs $(PRICE) $5"}
    configs: {/etc/web/main.conf: "one\\ntwo\\n", /srv/a b.txt: x}
    volumes: [/data, /cache]
    resources: {cpu: 1.5, memory: 1GiB}
workloads:
  get: {operations: {get: {path: /}}}
"""


def nodes(workers: int = 2) -> list[Node]:
    client = Node(name="client", role="client", address="198.18.0.1", cpus=(0,), memory=2**33)
    names = {f"worker-{number}": f"198.18.0.{number + 1}" for number in range(1, workers + 1)}
    return [client, *(client.model_copy(update={"name": n, "role": "worker", "address": a}) for n, a in names.items())]


def hotel(resources: dict[str, Resources] | None = None, **settings: Any) -> Deployment:
    application = applications.load("hotel-reservation").application
    return resolve(
        application, Settings.model_validate(settings), nodes(), resources or {}, catalogue.software(), "hotel"
    )


def other(text: str, **settings: Any) -> Deployment:
    return resolve(parse(text), Settings.model_validate(settings), nodes(), {}, catalogue.software(), "other")
