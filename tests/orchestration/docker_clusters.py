"""Hotel Reservation on real engines of emulated hosts, small enough for a laptop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.provisioning import demand, infrastructure_of, provide
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Provision
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.model.document import Document
from tests.support.applications import with_patience
from tests.traces import MACHINE, snapshot


def resources() -> dict[str, dict[str, Any]]:
    """Small limits of all services."""
    return {name: {"cpu": 0.2, "memory": "128MiB"} for name in catalogue.load("hotel-reservation").application.services}


def study(name: str, orchestrator: str, **more: Any) -> dict[str, Any]:
    """A study of short trials in which slowness is no failure."""
    return {
        "version": 1,
        "name": name,
        "application": "hotel-reservation",
        "orchestrator": orchestrator,
        "resources": resources(),
        "load": {"rates": [20], "slo": {"p99": "10s"}, "timeout": "20s", "lateness": "10s", "connections": 8},
        "trial": {"warmup": "1s", "duration": "3s", "order": "sequential"},
        **more,
    }


def plan_of(data: dict[str, Any]) -> Plan:
    """The plan of a study."""
    return make_plan(Document(yaml.safe_dump(data), "a test"))


def require(plan: Plan) -> None:
    """Skip where this machine cannot have the cluster."""
    infrastructure = infrastructure_of(plan.study.cluster, "preflight")
    wanted = demand(plan.study.cluster, plan.treatments[0])
    findings = infrastructure.preflight(wanted.software, wanted.managers)
    orchestrator = plugins.find("orchestrators", plan.study.orchestrator)
    if os.geteuid() != 0 or any(finding.level == "error" for finding in findings):
        pytest.skip(
            f"{orchestrator.name}: {'; '.join(finding.message for finding in findings if finding.level == 'error')}"
        )


@contextmanager
def cluster(plan: Plan, place: Path) -> Iterator[Provision]:
    """The plan's cluster; afterwards nothing of it may be left anywhere."""
    require(plan)
    before = snapshot()
    infrastructure = infrastructure_of(plan.study.cluster, plan.study.name)
    try:
        yield provide(plan.treatments[0], infrastructure, Listener())
        made = emulated(plan.study.name)
    finally:
        infrastructure.release()
    left = snapshot(made.id, (place / "data" / "clusters",))
    assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}
    after = snapshot()
    assert {kind: after[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}
    assert journal.entries() == []


def emulated(name: str) -> EmulatedHosts:
    """The emulated hosts of a study or a deployment of that name."""
    entry = journal.load(journal.cluster_name(name))
    assert entry is not None
    return EmulatedHosts.of(entry.facts)


def deploy(plan: Plan, provision: Provision, folder: Path) -> Deployed:
    """The plan's only treatment, seeded and ready."""
    deployable = plan.deployable(plan.treatments[0])
    deployable = replace(deployable, application=with_patience(deployable.application))
    deployed = Deployed(deployable, provision, plan.study.name, folder)
    deployed.start(Listener())
    return deployed
