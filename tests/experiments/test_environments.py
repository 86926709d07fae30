"""What a study says of environments: who runs them, what they are called, and machines that are something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loadstone.experiments import environments
from loadstone.experiments.deployment import resolve_treatment
from loadstone.experiments.plan import Plan, make_plan
from loadstone.model.cluster import Node
from loadstone.model.document import Document
from tests.support.standings import facts

NODES = [
    Node(name="client", role="client", address="10.0.0.1", cpus=(0,), memory=2**33),
    Node(name="worker-1", role="worker", address="10.0.0.2", cpus=(1,), memory=2**33),
]


def plan(**more: Any) -> Plan:
    study = {
        "version": 1,
        "name": "a",
        "application": "hotel-reservation",
        "load": {"rates": [1], "slo": {"p99": "1s"}},
        **more,
    }
    return make_plan(Document.of(study, "study.yaml"))


@pytest.mark.parametrize(("workers", "engine"), [(1, "compose"), (2, "swarm")])
def test_an_environment_chooses_the_orchestrator_where_none_is_named(workers: int, engine: str) -> None:
    cluster = {"infrastructure": "namespaces", "workers": workers}
    made = plan(cluster=cluster, factors={"environment": ["bare", "container"]})
    found = [
        (treatment.settings.environment, treatment.settings.orchestrator, treatment.label)
        for treatment in made.treatments
    ]
    assert found == [("bare", "process", "environment=bare"), ("container", engine, "environment=container")]
    named = plan(cluster=cluster, orchestrator="nomad", environment="container")
    assert named.treatments[0].settings.orchestrator == "nomad"


def test_machines_that_are_declared_virtual_are_called_so_everywhere() -> None:
    cluster = {"infrastructure": "namespaces", "machine": "vm"}
    comparison = {"comparison": {"baseline": {"environment": "bare"}}, "trial": {"repetitions": 10}}
    made = plan(cluster=cluster, factors={"environment": ["bare", "container"]}, **comparison)
    assert [treatment.label for treatment in made.treatments] == [
        "environment=vm (guest given)", "environment=vm-container (guest given)",
    ]  # fmt: skip
    assert made.baseline.label == "environment=vm (guest given)"
    assert [resolve_treatment(made.deployable(treatment), NODES, "a").environment for treatment in made.treatments] == [
        "vm (guest given)", "vm-container (guest given)",
    ]  # fmt: skip


def test_all_levels_are_in_one_study_in_any_order() -> None:
    cluster = {"infrastructure": "qemu", "machine": "vm"}
    levels = ["vm-container", "vm", "container", "bare"]
    found = [each.settings for each in plan(cluster=cluster, factors={"environment": levels}).treatments]
    assert [(each.environment, each.orchestrator) for each in found] == [
        ("vm-container", "compose"),
        ("vm", "process"),
        ("vm-container (guest given)", "compose"),
        ("vm (guest given)", "process"),
    ]


def test_an_environment_that_is_left_out_may_be_what_is_there() -> None:
    left_out = plan()
    assert left_out.treatments[0].settings.environment == "bare"
    assert resolve_treatment(left_out.deployable(left_out.treatments[0]), NODES, "a").environment is None
    requested = plan(environment="bare")
    assert resolve_treatment(requested.deployable(requested.treatments[0]), NODES, "a").environment == "bare"


@pytest.mark.parametrize(
    ("given", "guest", "message"),
    [
        ({}, True, None),
        ({"environment": "bare"}, False, None),
        ({"environment": "bare"}, True, "worker-1 is a virtual machine, so what runs on it is not 'bare'"),
        ({"environment": "bare", "cluster": {"machine": "vm"}}, True, None),
        ({"cluster": {"machine": "vm"}}, True, None),
        ({"cluster": {"machine": "vm"}}, False, "worker-1 is no virtual machine, but cluster.machine declares it"),
    ],
)  # fmt: skip
def test_preflight_looks_at_the_machines(
    given: dict[str, Any], guest: bool, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class There:
        facts: Callable[[], Any] = staticmethod(lambda: facts(guest=guest))

    monkeypatch.setattr(environments, "connect", lambda _name, _reach: There)
    made = plan(**given)
    findings = environments.findings(made, made.treatments[0], NODES)
    assert [(finding.level, finding.message) for finding in findings] == ([("error", message)] if message else [])
