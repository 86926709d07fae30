"""Which cluster a treatment needs, and when another one is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone import plugins
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import Demand, demand
from loadstone.infrastructure.base import Access
from loadstone.model.errors import InputError
from loadstone.model.study import Settings
from tests.experiments.fakes import (
    STUDY,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Managed,
    Recorder,
    write_study,
)
from tests.support.plans import read_plan

LAYERS = {
    "orchestrators": {"process": FakeOrchestrator, "swarm": Managed},
    "infrastructure": {"local": FakeInfrastructure, "fake": FakeInfrastructure},
}
HA = STUDY.replace("scaling: [baseline, unlimited]", "high_availability: [on, off]").replace(
    "application.yaml", "application.yaml\norchestrator: swarm\ncluster: {infrastructure: fake}"
)


@pytest.fixture(autouse=True)
def fake_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    FakeOrchestrator.reset()
    FakeInfrastructure.released = 0
    monkeypatch.setattr(FakeInfrastructure, "software", frozenset({"process", "swarm"}))
    find, names = plugins.find, plugins.names
    monkeypatch.setattr(plugins, "find", lambda layer, name: LAYERS.get(layer, {}).get(name) or find(layer, name))
    monkeypatch.setattr(plugins, "names", lambda layer: sorted(LAYERS[layer]) if layer in LAYERS else names(layer))
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))
    yield
    FakeInfrastructure.provided.clear()
    FakeInfrastructure.lost.clear()


def begin(folder: Path, text: str) -> tuple[Plan, Ledger]:
    document, plan = read_plan(write_study(folder, text))
    return plan, runs.ledger_of(runs.create(folder / "results", document, plan, [], {}), plan.study)


def conduct(plan: Plan, ledger: Ledger, driver: FakeDriver) -> None:
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), driver, Recorder()).run()


def demands(folder: Path, text: str) -> list[tuple[Settings, Demand]]:
    _, plan = read_plan(write_study(folder, text))
    return [(treatment.settings, demand(plan.study.cluster, treatment)) for treatment in plan.treatments]


def test_high_availability_is_three_managers(tmp_path: Path) -> None:
    found = demands(tmp_path, HA)
    assert [(settings.high_availability, wanted) for settings, wanted in found] == [
        ("on", Demand("swarm", 3)),
        ("off", Demand("swarm", 1)),
    ]
    assert {settings.environment for settings, _ in found} == {"container"}


def test_managers_that_are_given_are_taken_and_say_what_the_treatment_is(tmp_path: Path) -> None:
    text = HA.replace("factors: {high_availability: [on, off]}", "").replace("fake}", "fake, managers: 5}")
    ((settings, wanted),) = demands(tmp_path, text)
    assert wanted == Demand("swarm", 5)
    assert settings.high_availability == "on"


def test_who_has_no_managers_gets_none(tmp_path: Path) -> None:
    assert {wanted for _, wanted in demands(tmp_path, STUDY)} == {Demand("process", 0)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("fake}", "fake, managers: 3}"), "cluster.managers: high_availability also sets the number of managers"),
        (("orchestrator: swarm", "orchestrator: swam"), "orchestrator: no orchestrator 'swam'; did you mean 'swarm'?"),
        (("infrastructure: fake", "infrastructure: fakes"), "no infrastructure 'fakes'; did you mean 'fake'?"),
        (("fake}", "fake, link: {rate: 1Gbit}}"), "cluster.link: infrastructure 'fake' does not support this key"),
        (
            ("orchestrator: swarm", "environment: bare\norchestrator: swarm"),
            "environment 'bare' cannot be expressed by",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(write_study(tmp_path, HA.replace(*change)))
    assert message in str(caught.value)


def test_an_infrastructure_without_the_software_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeInfrastructure, "software", frozenset({"process"}))
    with pytest.raises(InputError, match="orchestrator 'swarm' does not run on infrastructure 'fake'"):
        read_plan(write_study(tmp_path, HA))


def test_a_cluster_serves_all_treatments_that_need_the_same_and_is_given_back_before_another(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, HA.replace("repetitions: 2", "repetitions: 2, order: sequential"))
    conduct(plan, ledger, FakeDriver())
    assert FakeInfrastructure.provided == [("swarm", 3), ("swarm", 1)]
    assert FakeInfrastructure.released == 2
    assert len(ledger.records) == 12


def test_machines_are_acquired_with_the_ports_where_requests_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquired: list[Any] = []
    monkeypatch.setattr(FakeInfrastructure, "acquire", lambda _self, *given: acquired.append(given))
    plan, ledger = begin(tmp_path, STUDY)
    conduct(plan, ledger, FakeDriver())
    ((software, managers, _, entry_ports),) = acquired
    assert (software, managers, entry_ports) == ("process", 0, (5000,))


def test_a_node_that_stops_makes_its_trial_invalid_and_the_rest_gets_a_new_cluster(tmp_path: Path) -> None:
    class Breaking(FakeDriver):
        def run(self, *given: Any) -> dict[str, Any]:
            found = super().run(*given)
            if len(self.ran) == 2:
                FakeInfrastructure.lost.append("worker: its engine does not answer")
            return found

    plan, ledger = begin(tmp_path, STUDY)
    conduct(plan, ledger, Breaking())
    invalid = [record.row for record in ledger.records if record.outcome.verdict == "invalid"]
    assert [row.reasons for row in invalid] == [("worker: its engine does not answer",)]
    assert invalid[0].order == 2
    assert len(ledger.records) == 12
    assert FakeInfrastructure.provided == [("process", 0), ("process", 0)]
    assert FakeOrchestrator.running == set()


def test_a_cluster_of_ours_takes_its_deployment_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HA.replace("repetitions: 2", "repetitions: 2, order: sequential")
    for access, removed in ((Access("swarm"), 2), (Access("swarm", cluster="fake"), 0)):
        FakeOrchestrator.reset()
        FakeInfrastructure.released = 0
        monkeypatch.setattr(FakeInfrastructure, "access", access)
        folder = tmp_path / str(removed)
        folder.mkdir()
        conduct(*begin(folder, text), FakeDriver())
        assert len(FakeOrchestrator.removed) == removed
        assert len(FakeOrchestrator.applied) == 2
        assert FakeInfrastructure.released == 2


def test_what_only_a_deployment_tells_is_added_to_the_provenance(tmp_path: Path) -> None:
    file = tmp_path / "provenance.json"
    file.write_text('{"loadstone": "1", "software": {"stone": "2"}}')
    runs.add_software(tmp_path, {}, {})
    assert json.loads(file.read_text()) == {"loadstone": "1", "software": {"stone": "2"}}
    runs.add_software(tmp_path, {"docker": "3"}, {"stone": "loadstone/stone:4 sha256:5"})
    runs.add_software(tmp_path, {"nomad": "6"}, {})
    assert json.loads(file.read_text()) == {
        "loadstone": "1",
        "software": {"stone": "2", "docker": "3", "nomad": "6"},
        "images": {"stone": "loadstone/stone:4 sha256:5"},
    }
    file.write_text("{")
    runs.add_software(tmp_path, {"docker": "3"}, {})
    assert json.loads(file.read_text()) == {"software": {"docker": "3"}}
