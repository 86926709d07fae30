"""Applications that are small enough for tests on clusters, and the built-in ones with patience."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

import loadstone
from loadstone.applications import catalogue
from loadstone.model.application import Application

ECHO = """\
name: echo
entry: {service: web, port: main}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "STONE"}
    command: [echo, --listen, "0.0.0.0:8080"]
    ports: {main: 8080}
    needs: [cache]
    readiness: {port: main, within: 20m}
    resources: {cpu: 0.2, memory: 64MiB}
  cache: {tier: caching, runs: {software: memcached}, resources: {cpu: 0.1, memory: 48MiB}}
workloads:
  get: {operations: {get: {path: /}}}
"""
"""A front end that answers everything, and a cache; STONE stands for the reference of our image."""

SMALL = """\
name: small
entry: {service: web, port: main}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "STONE"}
    command: [echo, --listen, "0.0.0.0:8080"]
    ports: {main: 8080}
    configs: {/etc/web/main.conf: "one {{ two }}\\nthree\\n"}
    volumes: [/data]
    needs: [cache]
    resources: {cpu: 0.2, memory: 64MiB}
  cache: {tier: caching, runs: {software: memcached}, resources: {cpu: 0.15, memory: 48MiB}}
workloads:
  get: {operations: {get: {path: /}}}
"""
"""A front end with a configuration, which no template engine may touch, and a volume; and a cache."""

PATIENCE_S = 1200.0
"""Time limit for readiness: on a busy machine only a replica that hangs exceeds it."""

SHOP = 6
"""Services of the shop: three that call each other, each with a PostgreSQL. It is the smallest application that has
all there is: services of ``stone``, and stores that are seeded, counted and checked."""

load = cache(catalogue.load)
"""A built-in application, read once: properties ask for it for each of their examples."""


def patient(name: str) -> dict[str, Any]:
    """A built-in application on a machine that others keep busy: each replica may take its time to be ready."""
    file = Path(loadstone.__file__).parent / "applications" / name / "application.yaml"
    application: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    for service in application["services"].values():
        service["readiness"] = {**service.get("readiness", {}), "within": f"{PATIENCE_S:g}s"}
    return application


def with_patience(application: Application) -> Application:
    """The same application, whose replicas have ``PATIENCE_S`` to become ready."""
    slow = {
        name: service.model_copy(update={"readiness": service.readiness.model_copy(update={"within": PATIENCE_S})})
        for name, service in application.services.items()
    }
    return application.model_copy(update={"services": slow})


def shop() -> dict[str, Any]:
    """The shop, patient and with next to nothing to compute."""
    application = patient("shop")
    for service in ("user", "payment"):
        application["services"][service]["tasks"]["linpack"] = 20
    application["services"]["order"]["tasks"] |= {"large_file": "4kB", "small_rounds": 1}
    application["datasets"] = {"thousand": {"users": 1000, "balance": 1000000000}}
    return application


def limits(application: dict[str, Any], cpu: float = 0.2, memory: str = "128MiB") -> dict[str, dict[str, Any]]:
    """The same small limits for all services: ``resources`` of a study."""
    return {name: {"cpu": cpu, "memory": memory} for name in application["services"]}
