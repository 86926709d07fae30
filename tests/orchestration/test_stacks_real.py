"""A real Prometheus and a real Jaeger beside a front end that has nothing behind it."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from loadstone.applications import catalogue
from loadstone.infrastructure.local import Local
from loadstone.model.cluster import Cluster
from loadstone.model.deployment import Deployment
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings
from loadstone.orchestration import stacks
from loadstone.orchestration.ports import is_free
from loadstone.orchestration.process import Process
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import parse

_NEEDS = ("search", "profile", "recommendation", "user", "reservation", "review", "attractions")
FRONTEND = f"""\
name: frontend
entry: {{service: frontend, port: http}}
default_workload: get
services:
  frontend:
    tier: frontend
    runs: {{stone: hotel/frontend}}
    ports: {{http: 5000, admin: 9000}}
    needs: [{", ".join(_NEEDS)}]
{"".join(f"  {name}: {{tier: caching, runs: {{software: memcached}}}}" + chr(10) for name in _NEEDS)}workloads:
  get: {{operations: {{get: {{path: /}}}}}}
"""
_WITHIN_S = 300.0


def on_free_ports(deployment: Deployment) -> Deployment:
    """The same with stacks on free ports: another may run beside this test."""
    spare = iter(number for number in range(24_000, 30_000) if is_free(number))
    replicas = [
        replica.model_copy(update={"ports": {name: next(spare) for name in replica.ports}})
        if replica.stack
        else replica
        for replica in deployment.replicas
    ]
    return stacks.watching(deployment.model_copy(update={"replicas": tuple(replicas)}))


@pytest.fixture
def watched(own_folders: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Process]:
    """The front end with a stack beside it."""
    settings = Settings.model_validate({"traces": {"sample": 1}})
    nodes, name = Local(Cluster()).sketch("process", 0), f"test-stacks-{os.getpid()}"
    requested = Stacks.model_validate({request.param: {}})
    deployment = resolve(parse(FRONTEND), settings, nodes, {}, catalogue.software(), name, requested)
    process = Process(stacks.sending_spans(on_free_ports(deployment), settings.traces), tmp_path / "run")
    if wrong := [finding for finding in process.preflight() if finding.level == "error"]:
        pytest.skip("; ".join(f"{finding.message}: {finding.remedy}" for finding in wrong))
    try:
        process.apply()
        process.ready()
        assert [row for row in process.audit() if not row.ok] == []
        yield process
    finally:
        process.remove()


def answer(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=_WITHIN_S) as answered:
        return json.load(answered)


def until(url: str, found: Any) -> Any:
    """What is found in the answer, requested until there is something."""
    deadline = time.monotonic() + _WITHIN_S
    while not (there := found(answer(url))):
        assert time.monotonic() < deadline, answer(url)
        time.sleep(0.2)
    return there


@pytest.mark.system
@pytest.mark.servers
@pytest.mark.parametrize("watched", ["prometheus"], indirect=True)
def test_prometheus_keeps_counters_of_nodes_and_replicas(watched: Process) -> None:
    deployment = watched.deployment
    assert watched.versions()["prometheus"].startswith("2.")
    prometheus = f"http://{stacks.address(deployment, 'prometheus')}/api/v1/query?query="
    (node,) = until(f"{prometheus}memory_total_bytes", lambda reply: reply["data"]["result"])
    assert (node["metric"]["node"], node["metric"]["subject"]) == ("worker-1", "node")
    result = until(f"{prometheus}container_processes", lambda reply: reply["data"]["result"])
    assert {replica["metric"]["subject"] for replica in result} == {
        f"replica:{replica.name}" for replica in deployment.replicas
    }
    for file in stacks.dashboards():
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                query = target["expr"].replace("$__rate_interval", "10s")
                assert answer(prometheus + quote(query))["status"] == "success"


@pytest.mark.system
@pytest.mark.servers
@pytest.mark.parametrize("watched", ["jaeger"], indirect=True)
def test_jaeger_has_the_traces_of_requests(watched: Process) -> None:
    assert watched.versions()["jaeger"].startswith("1.")
    (entry,) = watched.addresses("frontend", "http")
    with pytest.raises(urllib.error.HTTPError):  # there is nothing behind it, and that is an answer, too
        urllib.request.urlopen(f"http://{entry}/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38&lon=-122")
    query = f"http://{stacks.address(watched.deployment, 'jaeger')}/api/traces?service=frontend"
    trace = until(query, lambda reply: reply["data"])[0]
    assert "GET /hotels" in {span["operationName"] for span in trace["spans"]}
