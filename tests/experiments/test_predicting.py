"""Predictions stand in the results before their treatments are measured, and stay as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from loadstone import plugins
from loadstone.analysis import capacity, summary
from loadstone.analysis.run import open_run
from loadstone.experiments import pruning, reference_treatments, runs, schedule, trial_runner, what_if
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import FinishedTrial, Ledger
from loadstone.experiments.next_trial import NextTrial, Outcome
from loadstone.experiments.plan import Plan
from loadstone.experiments.predicting import nodes_of
from loadstone.experiments.resume import reopen
from loadstone.model.cluster import Cluster
from loadstone.model.errors import InputError
from loadstone.model.records.reading import Reading
from loadstone.report import content as contents
from loadstone.report import page, sentences
from loadstone.workloads.base import Offer, Progress
from tests.experiments.fakes import (
    SEARCH,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Recorder,
    provenance,
    write_study,
)
from tests.support.plans import read_plan

COST_S, LIMIT = 0.0019, 0.5
"""At 250 requests/s the front end uses 95 % of its limit."""
STUDY = SEARCH.replace("[baseline, unlimited]", "[baseline, horizontal]").replace(
    "metrics: off", "metrics: off\nresources: {web: {cpu: 0.5}}"
)
PREDICTING = STUDY.replace("start: 100}", "start: 100, predict: true}")
GUIDED = PREDICTING.replace("predict: true", "predict: true, guided: true").replace(
    "[baseline, horizontal]", "[horizontal, baseline, vertical]"
)
BLIND = STUDY.replace("duration: 1s", "duration: 1s, order: sequential")


class Driver(FakeDriver):
    """Remembers the load, for the counters, and which predictions there were before each trial."""

    rate = 0.0

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.seen: list[list[str]] = []

    def run(self, offer: Offer, progress: Progress) -> dict[str, Any]:
        Driver.rate = offer.rate
        self.seen.append(sorted(file.stem for file in (self.folder / "predictions").glob("*.json")))
        self.capacity = 250.0 * len(FakeOrchestrator.replicas)
        return super().run(offer, progress)


class Window(trial_runner.UsageWindow):
    """Counters of a service that costs ``COST_S`` a request."""

    def rows(self) -> list[Reading]:
        replicas = self._orchestrator.deployment.replicas
        FakeOrchestrator.replicas = [replica.name for replica in replicas]
        cores = min(Driver.rate * COST_S / len(replicas), LIMIT)
        used = Reading(
            service="web", tier="frontend", node="worker", window_s=1.0, cpu_s=cores, cpu=cores, cpu_limit=LIMIT
        )
        return [used.model_copy(update={"replica": replica.name}) for replica in replicas]


@pytest.fixture(autouse=True)
def fake_layers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    FakeOrchestrator.reset()
    found = plugins.find
    monkeypatch.setattr(
        plugins, "find", lambda layer, name: FakeOrchestrator if layer == "orchestrators" else found(layer, name)
    )
    apply = FakeOrchestrator.apply

    def counted(self: FakeOrchestrator, stores_only: bool = False) -> None:
        FakeOrchestrator.replicas = [replica.name for replica in self.deployment.replicas]
        apply(self, stores_only)

    monkeypatch.setattr(FakeOrchestrator, "apply", counted)
    monkeypatch.setattr(FakeOrchestrator, "replicas", [], raising=False)
    monkeypatch.setattr(trial_runner, "UsageWindow", Window)
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))


def begin(folder: Path, text: str) -> tuple[Plan, Ledger]:
    document, plan = read_plan(write_study(folder, text))
    nodes = FakeInfrastructure(plan.study.cluster, "x").sketch("process", 0)
    facts = provenance(runs.listed(nodes, {}))
    return plan, runs.ledger_of(runs.create(folder / "results", document, plan, [], facts), plan.study)


def conduct(plan: Plan, ledger: Ledger, stop_after: int | None = None) -> tuple[Driver, Recorder]:
    driver, listener = Driver(ledger.folder), Recorder()
    if stop_after is not None:
        driver.raises[stop_after] = KeyboardInterrupt()
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), driver, listener).run()
    return driver, listener


def test_the_baseline_goes_first_with_five_loads_below_its_breaking_point(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, PREDICTING)
    conduct(plan, ledger)
    baseline, horizontal = plan.treatments
    order = [record.treatment_id for record in ledger.records]
    first = order.index(horizontal.id)
    assert set(order[:first]) == {baseline.id} and set(order[first:]) == {horizontal.id}
    model = [record for record in ledger.records if record.outcome.phase == "model"]
    assert [record.treatment_id for record in model] == [baseline.id] * len(reference_treatments.LOADS)
    assert ledger.records[first - 1].outcome.phase == "model"
    run = open_run(ledger.folder)
    point = capacity.fit(run, summary.treatments(run)[0]).breaking_point.value
    assert [record.outcome.load / point for record in model] == pytest.approx(reference_treatments.LOADS, rel=0.02)
    assert schedule.remaining(plan, ledger.records) == 0


def test_a_prediction_is_there_before_the_first_trial_of_its_treatment(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, PREDICTING)
    driver, listener = conduct(plan, ledger)
    horizontal = plan.treatments[1]
    before = [
        seen for seen, record in zip(driver.seen, ledger.records, strict=True) if record.treatment_id == horizontal.id
    ]
    assert before and all(seen == [horizontal.id] for seen in before)
    kept = json.loads((ledger.folder / "predictions" / f"{horizontal.id}.json").read_text())
    started = [r.row.started for r in ledger.records if r.treatment_id == horizontal.id]
    assert datetime.fromisoformat(kept["time"]) <= min(map(datetime.fromisoformat, started))
    assert set(kept["trials"]) <= {r.trial_id for r in ledger.records if r.treatment_id == plan.treatments[0].id}
    assert sum("predicted for scaling=horizontal" in step for step in listener.steps) == 1


def test_a_prediction_is_scored_against_what_was_measured(tmp_path: Path) -> None:
    """One core of the node is used up before twice the replicas have used theirs."""
    plan, ledger = begin(tmp_path, PREDICTING)
    conduct(plan, ledger)
    run = open_run(ledger.folder)
    (found,), wrong = capacity.registered(run.folder)
    assert wrong == [] and found.bottleneck_name == "node worker (1 core)"
    assert found.predicted == pytest.approx(0.86 / COST_S, rel=0.06)
    (row,) = capacity.scores([found], summary.treatments(run))
    assert row.measured == pytest.approx(500, rel=0.06) and row.before is True
    assert row.error == pytest.approx(found.predicted / row.measured - 1)
    assert row.outcome == ("hit" if found.low <= row.measured <= found.high else "miss")


def test_a_resumed_run_keeps_its_predictions(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, PREDICTING)
    conduct(plan, ledger)
    file = ledger.folder / "predictions" / f"{plan.treatments[1].id}.json"
    whole, first = len(ledger.records), file.read_bytes()
    for record in ledger.records[-3:]:
        (ledger.folder / "trials" / record.trial_id / "trial.json").unlink()
    again, emptied = reopen(ledger.folder)
    conduct(again, emptied)
    assert len(emptied.records) == whole and file.read_bytes() == first


@pytest.mark.slow
def test_a_run_that_was_killed_before_it_could_foretell_does_so_when_resumed(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, PREDICTING)
    conduct(plan, ledger)
    horizontal = plan.treatments[1]
    (ledger.folder / "predictions" / f"{horizontal.id}.json").unlink()
    for record in ledger.records:
        if record.treatment_id == horizontal.id:
            (ledger.folder / "trials" / record.trial_id / "trial.json").unlink()
    again, emptied = reopen(ledger.folder)
    driver, _ = conduct(again, emptied)
    assert driver.seen[0] == [horizontal.id]


def test_what_is_measured_already_is_not_predicted(tmp_path: Path) -> None:
    """Interleaved searches: each treatment had trials before the first of them was over."""
    plan, ledger = begin(tmp_path, STUDY)
    conduct(plan, ledger)
    assert not (ledger.folder / "predictions").exists()


def test_searches_one_after_the_other_are_predicted_from_their_own_trials(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, BLIND)
    conduct(plan, ledger)
    assert [file.stem for file in (ledger.folder / "predictions").iterdir()] == [plan.treatments[1].id]
    assert all(record.outcome.phase != "model" for record in ledger.records)


@pytest.mark.slow
def test_a_guided_study_measures_the_best_and_leaves_out_what_it_beats(tmp_path: Path) -> None:
    """Two replicas bear 500 requests/s; one with half a core is predicted to bear 260, one with a core 500."""
    plan, ledger = begin(tmp_path, GUIDED)
    conduct(plan, ledger)
    horizontal, baseline, vertical = plan.treatments
    measured = [name for name, _ in groupby(record.treatment_id for record in ledger.records)]
    assert measured == [horizontal.id, vertical.id]
    assert {file.stem for file in (ledger.folder / "predictions").iterdir()} == {baseline.id, vertical.id}
    assert runs.complete(plan, ledger)
    assert schedule.remaining(plan, ledger.records, pruning.foretold(ledger.folder)) == 0
    content = contents.gather(ledger.folder)
    left = content.left_out[baseline.id]
    assert set(content.left_out) == {baseline.id} and left.predicted.high < left.at_least
    finding = dict(sentences.each_treatment(content))["scaling=baseline"]
    assert finding.startswith("was not measured: 2") and "are predicted, bounded by web (0.5 cores)" in finding
    assert not any("no trial yet" in text for text in sentences.warnings(content))
    shown = page.build(ledger.folder).read_text()
    assert "left out: another treatment is certain to be better" in shown and "no valid trial" not in shown


@pytest.mark.slow
def test_what_a_guided_study_has_begun_it_finishes_when_resumed(tmp_path: Path) -> None:
    """Killed with one trial of the loser done, as an unguided study would have it: its search goes on."""
    plan, ledger = begin(tmp_path, GUIDED)
    conduct(plan, ledger)
    whole, foretold = list(ledger.records), pruning.foretold(ledger.folder)
    baseline = plan.treatments[1]
    begun = replace(whole[0], treatment_id=baseline.id)
    assert schedule.next_trial(plan, whole, foretold) is None
    trial = schedule.next_trial(plan, [*whole, begun], foretold)
    assert trial is not None and trial.treatment.id == baseline.id
    assert [record.trial_id for record in replayed(plan, whole, foretold)] == [record.trial_id for record in whole]


def replayed(plan: Plan, whole: list[FinishedTrial], foretold: list[capacity.Registered]) -> list[FinishedTrial]:
    """The trials that a run would have which was resumed after each of them, with their results."""
    done: list[FinishedTrial] = []
    while (trial := schedule.next_trial(plan, done, foretold)) is not None:
        done.append(next(record for record in whole if record.trial_id == trial.id))
    return done


def test_a_study_that_is_guided_by_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"guided: there is nothing to be guided by; add predict: true"):
        read_plan(write_study(tmp_path, GUIDED.replace("predict: true, ", "")))


def test_only_scaling_and_placement_have_a_base_in_another_treatment(tmp_path: Path) -> None:
    text = PREDICTING.replace("horizontal]", "horizontal], documents: [postgres, mongodb]")
    _, plan = read_plan(write_study(tmp_path, text))
    made = [
        (reference_treatments.reference_of(plan.treatments, treatment).label, treatment.label)
        for treatment in plan.treatments
    ]
    assert made == [
        ("scaling=baseline documents=postgres", "scaling=baseline documents=postgres"),
        ("scaling=baseline documents=mongodb", "scaling=baseline documents=mongodb"),
        ("scaling=baseline documents=postgres", "scaling=horizontal documents=postgres"),
        ("scaling=baseline documents=mongodb", "scaling=horizontal documents=mongodb"),
    ]


def test_an_invalid_trial_of_the_model_is_run_once_more() -> None:
    history: list[Outcome] = []
    loads = []
    while isinstance(probe := reference_treatments.next_load(1000, 8, history), NextTrial):
        loads.append(probe.load)
        history.append(Outcome(probe.load, "model", "invalid" if len(history) in (0, 2) else "held"))
    assert loads == [50, 50, 200, 200, 350, 500, 750]


def test_nodes_are_read_from_the_provenance_of_any_release_and_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    nodes = FakeInfrastructure(Cluster(), "x").sketch("process", 0)
    file = tmp_path / "provenance.json"
    later = [{**node, "of a later release": 1} for node in runs.listed(nodes, {nodes[0].name: {"kernel": "6.1"}})]
    file.write_text(json.dumps({"nodes": later}))
    assert nodes_of(tmp_path) == nodes
    for text in ("{}", '{"nodes": [1]}', '{"nodes": [{"name": "a"}]}', "[", "[]"):
        file.write_text(text)
        with pytest.raises(InputError, match=r"provenance\.json: lists no nodes that can be read"):
            nodes_of(tmp_path)


def test_what_was_not_deployed_can_be_supposed(tmp_path: Path) -> None:
    plan, ledger = begin(tmp_path, PREDICTING)
    stored, nodes = json.loads((ledger.folder / "plan.json").read_text()), nodes_of(ledger.folder)
    base, planned = plan.treatments[0].id, open_run(ledger.folder).plan

    def ask(*assignments: str, **replicas: int) -> capacity.Layout:
        return what_if.supposed(stored, base, nodes, assignments, replicas)[1]

    assert [replica.limit for replica in ask().replicas] == [0.5]
    assert [replica.limit for replica in ask("scaling=vertical").replicas] == [1.0]
    assert [replica.limit for replica in ask("resources.web.cpu=0.2").replicas] == [0.2]
    assert len(ask("scaling=horizontal", web=3).replicas) == 6
    wide = ask("cluster.workers=4", web=8)
    assert len(wide.cores) == 4 and {replica.node for replica in wide.replicas} == set(wide.cores)
    assert what_if.other_objective(planned, ["scaling=vertical"]) is None
    changed = what_if.other_objective(planned, ["load.capacity.slo.p99=70ms"])
    assert changed is not None and changed.limits[0] == (pytest.approx(0.01), 0.07)
    assert [replica.limit for replica in ask("load.capacity.slo.p99=70ms").replicas] == [0.5]
    with pytest.raises(InputError, match=r"slo\.p99=often"):
        what_if.other_objective(planned, ["load.capacity.slo.p99=often"])
    with pytest.raises(InputError, match="'sideways'"):
        ask("scaling=sideways")
    with pytest.raises(InputError, match="--replicas wab: tiny has no such service; did you mean 'web'"):
        ask(wab=3)
    with pytest.raises(InputError, match="--replicas 'web=0'"):
        what_if.replica_counts(["web=0"])
