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
from loadstone.experiments.plan import Plan, read_plan
from loadstone.infrastructure.base import Provision, Say
from loadstone.infrastructure.tuning import Host, journal
from loadstone.model.cluster import Node
from loadstone.model.errors import Interrupted, PreflightError
from tests.experiments.fakes import STUDY, FakeDriver, FakeInfrastructure, FakeOrchestrator, Recorder, write_study
from tests.infrastructure.tuning import trees
from tests.infrastructure.tuning.kernel import Kernel

FACTOR = STUDY.replace("scaling: [baseline, unlimited]", "tuning: [off, {thp: never, irqs: [0]}, {smt: off}]").replace(
    "rates: [100, 200, 300]", "rates: [100]"
)
HOSTS: list[tuple[str, str | None, str]] = []
"""What the host was whenever something was done: what, hardware threads, huge pages."""


class Seeing(FakeInfrastructure):
    host: Host

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
    host = Seeing.host
    thp = (host.read(host.sys / "kernel/mm/transparent_hugepage/enabled") or "").partition("[")[2].partition("]")[0]
    now = (what, host.read(host.cpu / "smt/control"), thp)
    if HOSTS[-1:] != [now]:
        HOSTS.append(now)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    FakeOrchestrator.reset()
    layers = {"orchestrators": {"process": Applying}, "infrastructure": {"local": Seeing}}
    find = plugins.find
    monkeypatch.setattr(plugins, "find", lambda layer, name: layers.get(layer, {}).get(name) or find(layer, name))
    stone = tmp_path / "stone"
    stone.write_text("#!/bin/sh\nexit 0\n")
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))
    monkeypatch.setenv("LOADSTONE_HOST_STATE", str(tmp_path / "state"))
    Seeing.host = Kernel.of(trees.intel(tmp_path / "tree"))
    HOSTS.clear()
    yield Seeing.host
    FakeInfrastructure.provided.clear()


def begin(folder: Path, text: str) -> tuple[Plan, Ledger]:
    document, plan = read_plan(write_study(folder, text))
    return plan, runs.ledger_of(runs.create(folder / "results", document, plan, [], {}), plan)


def conduct(plan: Plan, ledger: Ledger, driver: FakeDriver, host: Host) -> None:
    Conductor(plan, ledger, Seeing(plan.study.cluster, "fake"), driver, Recorder(), host).run()


def test_each_treatment_gets_its_own_and_the_host_is_as_before(tmp_path: Path, host: Host) -> None:
    before = trees.contents(tmp_path / "tree")
    plan, ledger = begin(tmp_path, FACTOR.replace("repetitions: 2", "repetitions: 2, order: sequential"))
    conduct(plan, ledger, FakeDriver(), host)
    assert HOSTS == [
        ("provided", "on", "always"),
        ("deployed", "on", "always"),
        ("deployed", "on", "never"),  # on the same cluster
        ("released", "on", "never"),
        ("provided", "off", "always"),  # another one: its nodes have fewer cores
        ("deployed", "off", "always"),
        ("released", "off", "always"),
    ]
    assert trees.contents(tmp_path / "tree") == before
    assert journal.load() is None
    levels = [record.row["factor_tuning"] for record in ledger.records]
    assert list(dict.fromkeys(levels)) == ["none", "thp:never,irqs:0", "smt:off"]
    told = json.loads((ledger.folder / "provenance.json").read_text())["tuning"]
    thp, irqs = (f"{tmp_path}/tree/{name}" for name in (trees.THP, "proc/irq/9/smp_affinity_list"))
    assert set(told) == {"tuning=thp:never,irqs:0", "tuning=smt:off"}
    assert told["tuning=thp:never,irqs:0"][thp] == {"before": "always", "set": "never"}
    assert told["tuning=thp:never,irqs:0"][irqs] == {"before": "0-3", "refused": "Input/output error"}
    assert told["tuning=smt:off"] == {f"{tmp_path}/tree/{trees.CPU}/smt/control": {"before": "on", "set": "off"}}


@pytest.mark.parametrize("error", [Interrupted("interrupted by SIGINT"), ZeroDivisionError()])
def test_whatever_ends_the_run_the_host_is_as_before(tmp_path: Path, host: Host, error: BaseException) -> None:
    before = trees.contents(tmp_path / "tree")
    plan, ledger = begin(tmp_path, STUDY + "tuning: {governor: performance, smt: off}\n")
    driver = FakeDriver()
    driver.raises = {2: error}
    with pytest.raises(type(error)):
        conduct(plan, ledger, driver, host)
    assert len(ledger.records) == 1
    assert trees.contents(tmp_path / "tree") == before
    assert journal.load() is None


def test_a_knob_that_is_refused_ends_the_run_before_anything_is_deployed(tmp_path: Path, host: Host) -> None:
    before = trees.contents(tmp_path / "tree")
    plan, ledger = begin(tmp_path, STUDY + "tuning: {governor: performance}\n")
    stubborn = Kernel.of(tmp_path / "tree", stubborn=("scaling_governor",))
    with pytest.raises(PreflightError, match="wanted performance, found powersave"):
        conduct(plan, ledger, FakeDriver(), stubborn)
    assert HOSTS == []
    assert trees.contents(tmp_path / "tree") == before


def test_the_host_is_set_back_also_where_the_cluster_cannot_be_given_back(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any) -> None:
        raise PreflightError("the cluster stays")

    monkeypatch.setattr(Seeing, "release", fail)
    before = trees.contents(tmp_path / "tree")
    plan, ledger = begin(tmp_path, STUDY + "tuning: {thp: never}\n")
    with pytest.raises(PreflightError, match="the cluster stays"):
        conduct(plan, ledger, FakeDriver(), host)
    assert trees.contents(tmp_path / "tree") == before


def node(name: str, here: bool) -> Node:
    return Node(name=name, role="worker", address="10.0.0.1", cpus=(0,), memory=2**30, here=here)


def test_nodes_that_are_other_machines_are_refused(tmp_path: Path, host: Host) -> None:
    _, plan = read_plan(write_study(tmp_path, STUDY + "tuning: {thp: never}\n"))
    (found,) = tuning.findings(plan.treatments[0], Provision((node("a", True), node("b", False))), host)
    assert (found.level, found.message) == ("error", "b: another machine, whose knobs cannot be set from here")
    assert "infrastructure: local or namespaces" in found.remedy
    (fine,) = tuning.findings(plan.treatments[0], Provision((node("a", True),)), host)
    assert (fine.level, fine.message) == ("ok", "thp:never can be set here, and is undone")


def test_preflight_looks_at_every_level(tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = "tuning: [off, {uncore: 2GHz}, {uncore: 5GHz}, {cstates: [C9]}]"
    _, plan = read_plan(write_study(tmp_path, FACTOR.replace(FACTOR.split("{", 1)[1].split("}\nload")[0], levels)))
    monkeypatch.setattr("loadstone.experiments.preflight.Host", lambda: host)
    errors = [finding.message for finding in preflight.inspect(plan) if finding.level == "error"]
    assert len(errors) == 2
    assert "package_00_die_00/min_freq_khz: 5GHz is out of range" in errors[0]
    assert "no idle state is called 'C9'" in errors[1]


def test_what_all_treatments_set_is_settled(tmp_path: Path) -> None:
    def settled(levels: str) -> frozenset[str]:
        text = FACTOR.replace("tuning: [off, {thp: never, irqs: [0]}, {smt: off}]", f"tuning: {levels}")
        return tuning.settled(read_plan(write_study(tmp_path, text))[1])

    assert settled("[{thp: never, smt: off}, {smt: on}]") == {"smt"}
    assert settled("[off, {smt: on}]") == frozenset()
