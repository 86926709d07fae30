"""Between the trials of an application of images: its reset command, or, where it has none, another deployment."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone import plugins
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from tests.experiments.fakes import FakeDriver, FakeInfrastructure, FakeOrchestrator, Managed, Recorder, provenance
from tests.support.plans import read_plan

STUDY = """\
version: 1
name: foreign
application: ./compose.yaml
orchestrator: swarm
cluster: {infrastructure: namespaces}
load: {rates: [100], slo: {p99: 50ms}}
metrics: off
trial: {warmup: 0s, duration: 1s, repetitions: 3}
"""
COMPOSE = """\
services:
  web: {image: "x/web:1", ports: [5000]}
"""
COMMANDS = """\
x-loadstone:
  seed: echo seed $$LOADSTONE_ENTRY >> commands
  ready: echo ready >> commands
  reset: echo reset >> commands
"""


def conducted(folder: Path, compose: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the application was deployed for three trials."""
    FakeOrchestrator.reset()
    found = plugins.find
    monkeypatch.setattr(
        plugins, "find", lambda layer, name: Managed if layer == "orchestrators" else found(layer, name)
    )
    monkeypatch.setattr(FakeInfrastructure, "software", frozenset({"swarm"}))
    (folder / "stone").write_text("#!/bin/sh\nexit 0\n")
    (folder / "stone").chmod(0o755)
    (folder / "compose.yaml").write_text(compose)
    (folder / "study.yaml").write_text(STUDY)
    document, plan = read_plan(folder / "study.yaml")
    monkeypatch.setenv("LOADSTONE_STONE", str(folder / "stone"))
    made = runs.create(folder / "results", document, plan, [], provenance())
    ledger = runs.ledger_of(made, plan.study)
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), FakeDriver(), Recorder()).run()
    assert [record.outcome.verdict for record in ledger.records] == ["held"] * 3
    assert FakeOrchestrator.running == set()
    return len(FakeOrchestrator.applied)


def test_what_holds_nothing_is_deployed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert conducted(tmp_path, COMPOSE, monkeypatch) == 1


@pytest.mark.parametrize("store", ['{image: "mysql:8"}', '{image: "x/files:1", volumes: ["/data"]}'])
def test_what_holds_data_is_deployed_anew_for_each_trial(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert conducted(tmp_path, f"{COMPOSE}  store: {store}\n", monkeypatch) == 3


def test_a_reset_command_empties_it_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert conducted(tmp_path, f'{COMPOSE}  store: {{image: "mysql:8"}}\n{COMMANDS}', monkeypatch) == 1
    done = (tmp_path / "commands").read_text().splitlines()
    assert done == ["seed 127.0.0.1:5000", "ready", "reset", "reset", "reset"]
