"""Studies that are conducted without anything that is deployed."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone import plugins
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from tests.experiments.fakes import (
    Begin,
    Conduct,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Recorder,
    provenance,
    write_study,
)
from tests.support.plans import read_plan


@pytest.fixture
def fake_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is deployed, whatever the orchestrator."""
    FakeOrchestrator.reset()
    FakeInfrastructure.released = 0
    found = plugins.find
    monkeypatch.setattr(
        plugins, "find", lambda layer, name: FakeOrchestrator if layer == "orchestrators" else found(layer, name)
    )
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    def make(*text: str) -> tuple[Plan, Ledger]:
        document, plan = read_plan(write_study(tmp_path, *text))
        folder = runs.create(tmp_path / "results", document, plan, [], provenance())
        return plan, runs.ledger_of(folder, plan.study)

    return make


@pytest.fixture
def conduct(fake_layers: None, tmp_path: Path) -> Conduct:
    """Run a study with fake layers, some of them given; returns its run folder."""

    def run(
        text: str, driver: FakeDriver | None = None, infrastructure: type[FakeInfrastructure] = FakeInfrastructure
    ) -> Path:
        FakeOrchestrator.reset()
        document, plan = read_plan(write_study(tmp_path, text))
        folder = runs.create(tmp_path / "results", document, plan, [], provenance())
        ledger = runs.ledger_of(folder, plan.study)
        made = infrastructure(plan.study.cluster, "fake")
        Conductor(plan, ledger, made, driver or FakeDriver(), Recorder()).run()
        assert runs.complete(plan, ledger)
        return folder

    return run
