from __future__ import annotations

from pathlib import Path

from loadstone.model.observing import Traces
from loadstone.model.study import Settings
from loadstone.monitoring.observation import observation_of
from tests.experiments.fakes import FakeOrchestrator
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes


def test_nothing_is_started_where_nothing_is_wanted(tmp_path: Path) -> None:
    deployment = deployed(parse(SERVICES), two_nodes())
    observation = observation_of(Settings(metrics=None, traces=Traces(sample=0)), deployment)
    observation.start()
    assert observation.prepare(deployment) == deployment
    observation.begin(FakeOrchestrator(deployment, tmp_path), tmp_path)
    assert observation.end(FakeOrchestrator(deployment, tmp_path), None, None).problems == ()
    observation.stop()
    assert list(tmp_path.iterdir()) == []
