"""Another application beside the measured one, with fake layers: when it is deployed, loaded, removed, and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from loadstone import plugins
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.interference.neighbour import beside, placed
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Neighbour
from loadstone.model.records.summary import TrialSummary
from loadstone.workloads.base import DriverError, Offer, Progress
from tests.experiments.fakes import (
    STUDY,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Recorder,
    provenance,
    write_study,
)
from tests.support.plans import read_plan

BESIDE = STUDY.replace("factors: {scaling: [baseline, unlimited]}", "interference: {application: shop, rate: 5}")


class FakeGenerator:
    """Keeps account of what is offered; ``stops`` and ``fails`` are what becomes of the next one."""

    offers: ClassVar[list[Offer]] = []
    sending: ClassVar[list[FakeGenerator]] = []
    stops: ClassVar[list[str]] = []
    fails: ClassVar[list[str]] = []

    def __init__(self, offer: Offer) -> None:
        self.offers.append(offer)
        self._stopped = self.stops.pop() if self.stops else ""

    def start(self) -> None:
        if self.fails:
            raise DriverError(self.fails.pop())
        self.sending.append(self)

    def problem(self) -> str:
        return self._stopped

    def end(self) -> list[Path]:
        if self in self.sending:
            self.sending.remove(self)
        return []


class Windowed(FakeDriver):
    """Reports the edges of the window, in which the neighbour must be loaded."""

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        assert len(FakeGenerator.sending) == 1 and len(FakeOrchestrator.running) == 2
        offer.window_begins()
        summary = super().run(offer, progress)
        offer.window_ends()
        return summary


@pytest.fixture(autouse=True)
def fake_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    FakeOrchestrator.reset()
    for kept in (FakeGenerator.offers, FakeGenerator.sending, FakeGenerator.stops, FakeGenerator.fails):
        kept.clear()
    found = plugins.find
    fakes: dict[str, Any] = {"orchestrators": FakeOrchestrator, "interference": FakeGenerator}
    monkeypatch.setattr(plugins, "find", lambda layer, name: fakes.get(layer) or found(layer, name))
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))
    monkeypatch.setattr("loadstone.experiments.deployment.Seeder", _NoSeeder)


class _NoSeeder:
    keys: ClassVar[dict[str, int]] = {"users": 1000}
    resets: ClassVar[int] = 0

    def __init__(self, *_: object) -> None:
        pass

    def seed(self, *_: object) -> None:
        pass

    def reset(self, *_: object) -> None:
        type(self).resets += 1

    def loaded(self, _unfinished: object) -> None:
        pass

    def counts(self) -> dict[tuple[str, str], int]:
        return {}

    def check(self) -> list[dict[str, Any]]:
        return []


def conducted(folder: Path, text: str = BESIDE) -> tuple[Plan, Ledger]:
    document, plan = read_plan(write_study(folder, text))
    made = runs.create(folder / "results", document, plan, [], provenance())
    ledger = runs.ledger_of(made, plan.study)
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), Windowed(), Recorder()).run()
    return plan, ledger


def test_it_is_deployed_once_and_loaded_in_each_trial(tmp_path: Path) -> None:
    _, ledger = conducted(tmp_path)
    assert len(ledger.records) == 6
    first, second = FakeOrchestrator.applied
    assert second == f"{first}-neighbour" and FakeOrchestrator.removed == [second, first]
    assert len(FakeGenerator.offers) == 6 and FakeGenerator.sending == []
    offer = FakeGenerator.offers[0]
    assert (offer.rate, offer.load.arrival, offer.warmup_s, offer.load.record_requests) == (5, "constant", 0, True)
    assert offer.duration_s > 60, "longer than the trial"
    file = json.loads((ledger.folder / "trials" / ledger.records[0].trial_id / "interference.json").read_text())
    assert (file["level"], file["problems"]) == ("shop,rate:5", [])


def test_its_load_comes_from_the_last_client_and_the_last_of_its_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual: dict[str, Any] = {"address": "127.0.0.1", "memory": 2**33}
    clients = [Node(name=f"client-{n}", role="client", cpus=(2 * n, 2 * n + 1), **usual) for n in (1, 2)]
    worker = Node(name="worker", role="worker", cpus=(1,), **usual)
    monkeypatch.setattr(FakeInfrastructure, "sketch", lambda *_: [*clients, worker])
    conducted(tmp_path)
    assert FakeGenerator.offers[0].cpus == (5, 4)


def test_its_data_is_reset_with_that_of_the_first(tmp_path: Path) -> None:
    before = _NoSeeder.resets
    conducted(tmp_path, BESIDE.replace("repetitions: 2", "repetitions: 2, reset: per-trial"))
    assert _NoSeeder.resets - before == 2 * 6


def test_a_generator_that_stops_makes_its_trial_invalid_and_no_other(tmp_path: Path) -> None:
    FakeGenerator.stops.append("was killed by SIGKILL")
    _, ledger = conducted(tmp_path)
    first, *others = ledger.records
    assert first.row.reasons == ("interference: the load generator of shop was killed by SIGKILL",)
    assert {record.outcome.verdict for record in others} <= {"held", "not held"}
    assert len(FakeOrchestrator.applied) == 2, "its replicas still run"


@pytest.mark.parametrize("victim", ["application", "neighbour"])
def test_what_is_left_in_stores_is_counted_only_where_the_application_lost_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    counted = []

    class Counting(_NoSeeder):
        def counts(self, *within_s: float) -> dict[tuple[str, str], int]:
            counted.append(within_s)
            return {("store", "documents"): 1}

    def events(orchestrator: FakeOrchestrator) -> list[str]:
        beside = orchestrator.deployment.name.endswith("-neighbour")
        return ["queue-1 is gone"] if beside == (victim == "neighbour") else []

    monkeypatch.setattr("loadstone.experiments.deployment.Seeder", Counting)
    monkeypatch.setattr(FakeOrchestrator, "events", events)
    _, ledger = conducted(tmp_path)
    reason = "queue-1 is gone" if victim == "application" else "interference: shop: queue-1 is gone"
    assert {record.row.reasons for record in ledger.records} == {(reason,)}
    assert len(FakeOrchestrator.applied) == 2 * len(ledger.records), "both are deployed anew"
    again = [within_s for within_s in counted if within_s]
    assert len(again) == (len(ledger.records) if victim == "application" else 0)


def test_a_generator_that_cannot_start_is_named(tmp_path: Path) -> None:
    FakeGenerator.fails.append("ended with 3: nothing answers")
    with pytest.raises(DeploymentError, match="interference: the load generator of shop: ended with 3"):
        conducted(tmp_path)
    assert FakeOrchestrator.running == set()


def test_it_is_deployed_as_the_first_and_otherwise_by_its_own_defaults(tmp_path: Path) -> None:
    text = BESIDE.replace("rate: 5", "rate: 5, workload: payment-alone, resources: {user: {cpu: 0.5}}")
    _, plan = read_plan(write_study(tmp_path, text))
    (treatment,) = plan.treatments
    wanted, loaded = treatment.settings.interference, plan.of(treatment).neighbour
    assert isinstance(wanted, Neighbour) and loaded is not None
    assert treatment.neighbour_digest == loaded.digest
    made = beside(plan.deployable(treatment), loaded, wanted)
    settings = made.treatment.settings
    assert (made.application.name, settings.workload, settings.dataset) == ("shop", "payment-alone", "thousand")
    assert (settings.orchestrator, settings.environment) == ("process", "bare")
    assert settings.interference is None and settings.metrics is None
    assert made.treatment.resources["user"].cpu == 0.5 and made.dataset["users"] == 1000
    worker = FakeInfrastructure(plan.study.cluster, "fake").sketch("process", 0)[1]
    where = placed(made, [worker]).treatment.settings.placement
    assert where is not None and where.services["postgres-user"] == ["worker"]
    assert list(plan.as_data()["neighbours"]) == ["shop"]
