"""Hosts are tuned before anything is started, otherwise between treatments, and back whatever ends the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone import plugins
from loadstone.experiments import preflight, runs, tuning
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from loadstone.experiments.tuning import Tuner
from loadstone.infrastructure.base import Finding, Provision, Say
from loadstone.infrastructure.machines import MachineLost
from loadstone.model.cluster import Node, Reach
from loadstone.model.errors import DeploymentError, Interrupted, PreflightError
from loadstone.model.records.node.tuning import TuningOwner
from loadstone.model.tuning import Tuning
from tests.experiments.fakes import STUDY, FakeDriver, FakeInfrastructure, FakeOrchestrator, Recorder, write_study
from tests.infrastructure.tuning.fake import AT_FIRST, FakeMachine
from tests.support.plans import read_plan

FACTOR = STUDY.replace("scaling: [baseline, unlimited]", "tuning: [off, {thp: never, irqs: [0]}, {smt: off}]").replace(
    "rates: [100, 200, 300]", "rates: [100]"
)
HOSTS: list[tuple[str, str | None, str]] = []
"""What the host was whenever something was done: what, hardware threads, huge pages."""


class Seeing(FakeInfrastructure):
    machine: FakeMachine

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        see("provided")
        return super().provide(software, managers, say)

    def release(self) -> None:
        see("released")
        super().release()


class Applying(FakeOrchestrator):
    def apply(self, stores_only: bool = False) -> None:
        see("deployed")
        super().apply(stores_only)


def see(what: str) -> None:
    now = (what, Seeing.machine.now["smt"], Seeing.machine.now["thp"])
    if HOSTS[-1:] != [now]:
        HOSTS.append(now)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeMachine]:
    FakeOrchestrator.reset()
    layers = {"orchestrators": {"process": Applying}, "infrastructure": {"local": Seeing}}
    find = plugins.find
    monkeypatch.setattr(plugins, "find", lambda layer, name: layers.get(layer, {}).get(name) or find(layer, name))
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))
    Seeing.machine = FakeMachine()
    monkeypatch.setattr(tuning, "this_machine", lambda: Seeing.machine)
    HOSTS.clear()
    yield Seeing.machine
    FakeInfrastructure.provided.clear()


def begin(folder: Path, text: str) -> tuple[Plan, Ledger]:
    document, plan = read_plan(write_study(folder, text))
    return plan, runs.ledger_of(runs.create(folder / "results", document, plan, [], {}), plan.study)


def conduct(plan: Plan, ledger: Ledger, driver: FakeDriver) -> None:
    Conductor(plan, ledger, Seeing(plan.study.cluster, "fake"), driver, Recorder()).run()


def test_each_treatment_gets_its_own_and_the_host_is_as_before(tmp_path: Path, host: FakeMachine) -> None:
    host.keeps = {"irqs"}
    plan, ledger = begin(tmp_path, FACTOR.replace("repetitions: 2", "repetitions: 2, order: sequential"))
    conduct(plan, ledger, FakeDriver())
    assert HOSTS == [
        ("provided", "on", "always"),
        ("deployed", "on", "always"),
        ("deployed", "on", "never"),  # on the same cluster
        ("released", "on", "never"),
        ("provided", "off", "always"),  # another one: its nodes have fewer cores
        ("deployed", "off", "always"),
        ("released", "off", "always"),
    ]
    assert host.now == AT_FIRST and host.left is None
    levels = [record.row.factors["tuning"] for record in ledger.records]
    assert list(dict.fromkeys(levels)) == ["none", "thp:never,irqs:0", "smt:off"]
    provenance = json.loads((ledger.folder / "provenance.json").read_text())["tuning"]
    assert set(provenance) == {"tuning=thp:never,irqs:0", "tuning=smt:off"}
    assert provenance["tuning=thp:never,irqs:0"]["here:/sys/thp"] == {"before": "always", "set": "never"}
    assert provenance["tuning=thp:never,irqs:0"]["here:/sys/irqs"] == {"before": "0-3", "refused": "Input/output error"}
    assert provenance["tuning=smt:off"] == {"here:/sys/smt": {"before": "on", "set": "off"}}


@pytest.mark.parametrize("error", [Interrupted("interrupted by SIGINT"), ZeroDivisionError()])
def test_whatever_ends_the_run_the_host_is_as_before(tmp_path: Path, host: FakeMachine, error: BaseException) -> None:
    plan, ledger = begin(tmp_path, STUDY + "tuning: {governor: performance, smt: off}\n")
    driver = FakeDriver()
    driver.raises = {2: error}
    with pytest.raises(type(error)):
        conduct(plan, ledger, driver)
    assert len(ledger.records) == 1
    assert host.now == AT_FIRST and host.left is None


def test_a_knob_that_is_refused_ends_the_run_before_anything_is_deployed(tmp_path: Path, host: FakeMachine) -> None:
    plan, ledger = begin(tmp_path, STUDY + "tuning: {governor: performance}\n")
    host.refuses = {"governor": PreflightError("wanted performance, found powersave")}
    with pytest.raises(PreflightError, match="wanted performance, found powersave"):
        conduct(plan, ledger, FakeDriver())
    assert HOSTS == []
    assert host.now == AT_FIRST and host.left is None


def test_the_host_is_set_back_also_where_the_cluster_cannot_be_given_back(
    tmp_path: Path, host: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any) -> None:
        raise PreflightError("the cluster stays")

    monkeypatch.setattr(Seeing, "release", fail)
    plan, ledger = begin(tmp_path, STUDY + "tuning: {thp: never}\n")
    with pytest.raises(PreflightError, match="the cluster stays"):
        conduct(plan, ledger, FakeDriver())
    assert host.now == AT_FIRST and host.left is None


def test_a_trial_during_which_another_program_sets_a_knob_is_invalid(tmp_path: Path, host: FakeMachine) -> None:
    class Disturbing(FakeDriver):
        def run(self, *given: Any, **named: Any) -> Any:
            if host.requests.count("tune") == 1:
                host.now["thp"] = "madvise"
            return super().run(*given, **named)

    plan, ledger = begin(tmp_path, STUDY.replace("[baseline, unlimited]", "[baseline]") + "tuning: {thp: never}\n")
    conduct(plan, ledger, Disturbing())
    first, *others = ledger.records
    assert first.outcome.verdict == "invalid"
    assert "here: tuning.thp: /sys/thp was set to never, but is madvise now" in first.row.reasons
    assert others and all(record.outcome.verdict != "invalid" for record in others)  # it was tuned again
    assert host.requests.count("tune") == 2
    assert host.now == AT_FIRST


def test_nodes_to_which_no_channel_leads_are_refused(tmp_path: Path, host: FakeMachine) -> None:
    def node(name: str, here: bool) -> Node:
        reach = Reach() if here else Reach(transport="exec", options={"software": "docker", "url": "ssh://lab"})
        return Node(name=name, role="worker", address="10.0.0.1", cpus=(0,), memory=2**30, reach=reach)

    _, plan = read_plan(write_study(tmp_path, STUDY + "tuning: {thp: never}\n"))
    (found,) = tuning.findings(plan.treatments[0], [node("a", True), node("b", False)])
    assert (found.level, found.message[:27]) == ("error", "b: these machines cannot be")
    (fine,) = tuning.findings(plan.treatments[0], [node("a", True)])
    assert (fine.level, fine.message) == ("ok", "thp:never can be set here, and is undone")


def test_hosts_elsewhere_are_reached_each_by_its_channel(host: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    def node(name: str, **reach: Any) -> Node:
        way = Reach.model_validate(reach)
        return Node(name=name, role="worker", address="10.0.0.1", cpus=(0,), memory=2**30, reach=way)

    monkeypatch.setattr(tuning, "connect", lambda name, reach: FakeMachine(name, reach.options["host"]))
    nodes = [
        node("client"),
        node("emulated-1", transport="emulated"),
        node("w1", transport="ssh", options={"host": "a"}),
        node("w2", transport="ssh", options={"host": "b"}),
    ]
    machines, far = tuning.machines_of(nodes)
    assert ([machine.name for machine in machines], far) == (["here", "w1", "w2"], [])


def test_preflight_looks_at_every_level(tmp_path: Path, host: FakeMachine) -> None:
    levels = "tuning: [off, {uncore: 2GHz}, {turbo: off}, {cstates: [C9]}]"
    _, plan = read_plan(write_study(tmp_path, FACTOR.replace(FACTOR.split("{", 1)[1].split("}\nload")[0], levels)))
    errors = [finding.message for finding in preflight.inspect(plan).errors]
    assert errors == ["this machine has no turbo", "this machine has no cstates"]


def test_what_a_host_lacks_does_not_end_the_preflight_of_it(
    tmp_path: Path, host: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = STUDY.replace("scaling: [baseline, unlimited]", "tuning: [off, {turbo: off}]")
    _, plan = read_plan(write_study(tmp_path, text))
    for stops, wanted in ((False, ["its disk is full", "this machine has no turbo"]), (True, ["its disk is full"])):
        lack = Finding("here", "error", "its disk is full", stops=stops)
        monkeypatch.setattr(Seeing, "preflight", lambda *_, lack=lack: [lack])
        assert [finding.message for finding in preflight.inspect(plan).errors] == wanted


TUNING = Tuning.model_validate({"thp": "never", "governor": "performance"})


def test_all_machines_are_tuned_and_set_back_each_kernel_once() -> None:
    client, first, second = FakeMachine("client", "0"), FakeMachine("w1", "1"), FakeMachine("w2", "2")
    emulated = FakeMachine("w3", "2")
    recorder = Recorder()
    tuner = Tuner(recorder)
    tuner.tune(TUNING, [client, first, second, emulated])
    tuner.tune(TUNING, [client, first, second, emulated])
    assert [machine.now["thp"] for machine in (client, first, second)] == ["never"] * 3
    assert set(tuner.changes) == {"client", "w1", "w2"}
    tuner.release()
    tuner.release()
    for machine in (client, first, second):
        assert machine.now == AT_FIRST
        assert machine.requests == ["tune", "restore"]
    assert emulated.requests == []


def test_another_set_of_machines_is_another_tuning() -> None:
    first, second = FakeMachine("w1", "1"), FakeMachine("w2", "2")
    tuner = Tuner(Recorder())
    tuner.tune(TUNING, [first])
    tuner.tune(TUNING, [first, second])
    assert first.now["thp"] == second.now["thp"] == "never"
    tuner.release()
    assert first.now == second.now == AT_FIRST


def test_if_one_machine_refuses_none_is_tuned() -> None:
    first, second, third = FakeMachine("w1", "1"), FakeMachine("w2", "2"), FakeMachine("w3", "3")
    second.refuses = {"governor": PreflightError("w2: tuning.governor: the kernel does not take 'performance'")}
    tuner = Tuner(Recorder())
    with pytest.raises(PreflightError, match=r"^w2: tuning\.governor: the kernel does not take 'performance'$"):
        tuner.tune(TUNING, [first, second, third])
    assert [machine.now for machine in (first, second, third)] == [AT_FIRST] * 3
    assert first.requests == third.requests == ["tune", "restore"]
    assert second.requests == ["tune"]
    tuner.release()
    assert first.requests == ["tune", "restore"]


def test_a_machine_that_is_lost_while_it_is_tuned_concerns_the_deployment() -> None:
    first, second = FakeMachine("w1", "1"), FakeMachine("w2", "2")
    second.refuses = {"governor": MachineLost("w2: its node has ended")}
    tuner = Tuner(Recorder())
    with pytest.raises(DeploymentError, match="w2: its node has ended"):
        tuner.tune(TUNING, [first, second])
    assert first.now == AT_FIRST


def test_a_machine_that_cannot_be_set_back_is_named_and_tried_again() -> None:
    first, second = FakeMachine("w1", "1"), FakeMachine("w2", "2")
    tuner = Tuner(Recorder())
    tuner.tune(TUNING, [first, second])
    second.stuck = "this host is not as it was before it was tuned"
    with pytest.raises(PreflightError, match=r"^w2: this host is not as it was"):
        tuner.release()
    assert first.now == AT_FIRST
    second.stuck = ""
    tuner.release()
    assert second.now == AT_FIRST


def test_a_machine_that_is_lost_is_noted_and_the_others_are_set_back() -> None:
    class Noting(Recorder):
        def note(self, text: str) -> None:
            notes.append(text)

    notes: list[str] = []
    first, second = FakeMachine("w1", "1"), FakeMachine("w2", "2")
    tuner = Tuner(Noting())
    tuner.tune(TUNING, [first, second])
    second.lost = True
    assert tuner.problems() == ["w2: its node has ended"]
    tuner.release()
    assert first.now == AT_FIRST
    assert notes == [
        "w2: its node has ended; it restores its settings when it notices; `loadstone restore STUDY` verifies them"
    ]
    tuner.release()
    assert len(notes) == 1


def test_what_killed_runs_left_is_set_back_on_every_machine() -> None:
    first, second, third = FakeMachine("w1", "1"), FakeMachine("w2", "2"), FakeMachine("w3", "3")
    first.left = TuningOwner(pid=12, started=1, command="loadstone run a.yaml on desk")
    first.now["thp"] = "never"
    found, errors = tuning.recover([first, second])
    assert not errors
    assert [tuning.sentence(name, restored) for name, restored in found.items()] == [
        "process 12 (loadstone run a.yaml on desk) left w1 tuned: 1 value restored and verified"
    ]
    restarted = found["w1"].model_copy(update={"restarted": True})
    assert tuning.sentence("w1", restarted).startswith("w1 was rebooted since process 12")
    third.stuck = "this host is tuned by process 9 (loadstone run b.yaml on desk), which still runs"
    first.left = TuningOwner(pid=12, started=1, command="loadstone run a.yaml on desk")
    found, errors = tuning.recover([first, second, third])
    assert list(found) == ["w1"]
    assert list(map(str, errors)) == [f"w3: {third.stuck}"]


def test_what_all_treatments_set_is_settled(tmp_path: Path) -> None:
    def settled(levels: str) -> frozenset[str]:
        text = FACTOR.replace("tuning: [off, {thp: never, irqs: [0]}, {smt: off}]", f"tuning: {levels}")
        return tuning.settled(read_plan(write_study(tmp_path, text))[1].treatments)

    assert settled("[{thp: never, smt: off}, {smt: on}]") == {"smt"}
    assert settled("[off, {smt: on}]") == frozenset()
