"""Images that are neither ours nor a store's, on their way from the application to replicas."""

from __future__ import annotations

import pytest

import loadstone
from loadstone.model import image
from loadstone.orchestration.discovery import readiness_url
from tests.orchestration.conftest import deployed, parse, two_nodes

IMAGES = """\
name: images
entry: {service: web, port: http}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "nginx:1.25"}
    ports: {http: 80}
    needs: [redis, geo, store]
    entrypoint: [/bin/nginx]
    command: [-g, daemon off;]
    environment: {MODE: fast}
    configs: {/etc/web.conf: "listen 80\\n"}
  redis: {tier: caching, runs: {image: redis}, volumes: [/data], replicas: 2}
  cache: {tier: caching, runs: {software: redis}}
  store: {tier: storage, runs: {image: "localhost:5000/stone"}, ports: {main: 9000}}
  geo: {tier: logic, runs: {stone: hotel/geo}, ports: {grpc: 8083}, needs: [cache, store]}
workloads:
  get: {operations: {get: {path: /}}}
"""


def test_what_a_service_says_of_its_image_is_what_its_replicas_have() -> None:
    (web,) = deployed(parse(IMAGES), two_nodes()).of("web")
    assert (web.image, web.stone, web.software) == ("nginx:1.25", None, None)
    assert (web.entrypoint, web.command) == (("/bin/nginx",), ("-g", "daemon off;"))
    assert (web.environment, web.configs) == ({"MODE": "fast"}, {"/etc/web.conf": "listen 80\n"})
    assert web.volumes == ()


def test_an_image_without_a_tag_is_not_taken_for_software_or_for_ours() -> None:
    deployment = deployed(parse(IMAGES), two_nodes())
    ours = {name: f"loadstone/{name}:{loadstone.__version__}" for name in ("redis", "stone")}
    foreign = ["nginx:1.25", "redis:latest", "localhost:5000/stone:latest"]
    assert deployment.images == {**ours, **{name: name for name in foreign}}
    assert [replica.image for replica in deployment.of("redis")] == ["redis:latest"] * 2
    assert list(deployment.software) == ["redis"]


def test_replicas_that_hold_data_apart_are_warned_of() -> None:
    assert list(deployed(parse(IMAGES), two_nodes()).warnings) == [
        "redis: each of several replicas has volumes of its own",
    ]


@pytest.mark.parametrize(
    ("reference", "whole", "repeatable"),
    [
        ("redis", "redis:latest", False),
        ("redis:7", "redis:7", True),
        ("redis:latest", "redis:latest", False),
        ("host:5000/redis", "host:5000/redis:latest", False),
        ("host:5000/redis:7", "host:5000/redis:7", True),
        (f"redis@sha256:{'0' * 64}", f"redis@sha256:{'0' * 64}", True),
    ],
)
def test_references(reference: str, whole: str, repeatable: bool) -> None:
    assert (image.whole(reference), image.repeatable(reference)) == (whole, repeatable)


def test_an_image_without_ports_has_no_health_check() -> None:
    deployment = deployed(parse(IMAGES), two_nodes())
    assert readiness_url(deployment.of("redis")[0]) is None
    assert readiness_url(deployment.of("web")[0]) == "tcp://127.0.0.1:80"
