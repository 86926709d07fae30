"""The real agent of this machine that a Prometheus in containers scrapes."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from loadstone.applications import catalogue
from loadstone.model.errors import DeploymentError
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings
from loadstone.monitoring.prometheus_targets import PrometheusTargets
from loadstone.orchestration.resolve import resolve
from tests.experiments.fakes import FakeOrchestrator
from tests.orchestration.conftest import SERVICES, parse, two_nodes


def answer(url: str, token: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answered:
            return answered.status, answered.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_prometheus_alone_has_the_agent_s_token(tmp_path: Path) -> None:
    settings, nodes = Settings(orchestrator="compose"), two_nodes()
    wanted = Stacks.model_validate({"prometheus": {}})
    deployment = resolve(parse(SERVICES), settings, nodes, {}, catalogue.software(), "test", wanted)
    collector = PrometheusTargets.wanted(settings, deployment, nodes[0])
    assert collector is not None
    collector.start()
    try:
        (config,) = collector.prepare(deployment).of("prometheus")[0].configs.values()
        jobs = {job["job_name"]: job for job in yaml.safe_load(config)["scrape_configs"]}
        (target,) = jobs["nodes"]["static_configs"]
        collector.begin(FakeOrchestrator(deployment, tmp_path), tmp_path)
        url = f"http://{target['targets'][0]}/metrics"
        status, body = answer(url, jobs["nodes"]["authorization"]["credentials"])
        assert status == 200 and 'memory_total_bytes{subject="node"}' in body
        status, body = answer(url, "guessed")
        assert status == 401 and "memory" not in body
    finally:
        collector.stop()
        collector.stop()


def test_an_agent_that_cannot_listen_gives_its_reason(tmp_path: Path) -> None:
    desk = two_nodes()[0].model_copy(update={"address": "203.0.113.1"})
    collector = PrometheusTargets(two_nodes()[1], desk)
    with pytest.raises(DeploymentError, match="Prometheus cannot be shown this machine's counters: stone agent: "):
        collector.start()
