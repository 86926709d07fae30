"""What a run did not deploy: its study with other settings, more replicas, more nodes; nothing is started."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.analysis.capacity import Layout, Objective, of_study
from loadstone.experiments.plan import make_plan
from loadstone.experiments.predicting import layout_of
from loadstone.infrastructure.choosing import first_infrastructure
from loadstone.model.base import did_you_mean
from loadstone.model.cluster import Cluster, Node
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.records.run_files import PlanFile
from loadstone.model.slo import Slo
from loadstone.orchestration.external import kind_of

ALL = "all"
_OBJECTIVE = "load.capacity.slo"
"""What an assignment begins with that changes no layout, but what it must do."""


def supposed(
    plan: Mapping[str, Any],
    treatment_id: str,
    nodes: Sequence[Node],
    assignments: Sequence[str],
    replicas: Mapping[str, int],
) -> tuple[str, Layout]:
    """The label and the layout of a measured treatment (of ``plan.json``) with ``--set`` assignments applied.

    ``replicas`` replace the counts at ``scaling: baseline``, by service or for ``all``. More workers than the run had
    are taken to be like its first. Raises InputError for what no study could say.
    """
    document = _as_study(plan, treatment_id)
    for assignment in assignments:
        if not assignment.startswith(_OBJECTIVE):
            document.override(assignment)
    _make_room(document)
    _set_replicas(document, replicas)
    changed = make_plan(document)
    changes = [*assignments, *(f"replicas.{name}={count}" for name, count in replicas.items())]
    return " ".join(changes) or "as measured", layout_of(
        changed, changed.treatments[0], _nodes(changed.study.cluster.workers, nodes)
    )


def other_objective(plan: PlanFile, assignments: Sequence[str]) -> Objective | None:
    """The objective that ``load.capacity.slo`` assignments ask for; None where they leave it as it was measured."""
    changes = [assignment for assignment in assignments if assignment.startswith(_OBJECTIVE)]
    if not changes:
        return None
    study = plan.study
    if study is None or study.load.capacity is None:
        raise InputError(f"--set {changes[0]!r}: the run has no capacity search, so this objective does not exist")
    document = Document.of({"load": study.document["load"]}, plan.source or Path("study.yaml"))
    for change in changes:
        document.override(change)
    try:
        return of_study(study, Slo.model_validate(document.data["load"]["capacity"]["slo"]))
    except ValueError as problem:
        raise InputError(f"--set {' '.join(changes)}: {problem}") from None


def replica_counts(texts: Sequence[str]) -> dict[str, int]:
    """``search=4`` or ``all=500``, several of them."""
    found = {}
    for text in texts:
        match = re.fullmatch(r"([a-z][a-z0-9-]*)=(\d+)", text)
        if match is None or int(match[2]) == 0:
            raise InputError(f"--replicas {text!r}: give a service and a number, for example search=4, or all=4")
        found[match[1]] = int(match[2])
    return found


def _as_study(plan: Mapping[str, Any], treatment_id: str) -> Document:
    """A study of that treatment alone, as the run's study resolved it."""
    study = {name: value for name, value in plan["study"].items() if value is not None}
    known = next(treatment for treatment in plan["treatments"] if treatment["id"] == treatment_id)
    settings = {name: value for name, value in known["settings"].items() if value is not None}
    for name in ("factors", "except", "comparison"):
        study.pop(name, None)
    study |= {"resources": known["resources"], "replicas": known.get("replicas") or {}}
    values = ((tuple(path.split(".")), value) for path, value in (known.get("varied") or {}).items())
    # Only what is deployed matters; how it is loaded may have come from files that are gone.
    study["load"] = {"rates": [1], "slo": {"p99": "1s"}}
    study["trial"] = {}
    document = Document.of({**study, **settings}, plan.get("source") or Path("study.yaml"))
    return document.with_values((path, value, path) for path, value in values if path[0] not in ("load", "trial"))


def _make_room(document: Document) -> None:
    """Let a study of one machine have several workers: nothing is started on them."""
    cluster = document.data.get("cluster") or {}
    name = cluster.get("infrastructure", Cluster().infrastructure)
    known = name in plugins.names("infrastructure")
    if known and plugins.find("infrastructure", name).single_worker and cluster.get("workers", 1) != 1:
        software = kind_of(document.data["orchestrator"]).software
        able = first_infrastructure(software, lambda kind: kind.self_contained and not kind.single_worker)
        document.override(f"cluster.infrastructure={able}")


def _set_replicas(document: Document, replicas: Mapping[str, int]) -> None:
    """As the key ``replicas`` of the study."""
    application = make_plan(document).application
    services = list(application.services)
    for name, count in replicas.items():
        if name != ALL and name not in services:
            known = did_you_mean(name, services)
            raise InputError(f"--replicas {name}: {application.name} has no such service{known}")
        for service in services if name == ALL else [name]:
            document.put(("replicas", service), count, f"replicas.{service}={count}")


def _nodes(wanted: int, nodes: Sequence[Node]) -> list[Node]:
    """As many workers as wanted, the measured ones first."""
    workers = [node for node in nodes if node.role == "worker"]
    if not workers:
        raise InputError("the run's provenance.json names no worker, so replicas cannot be placed")
    names = {node.name for node in workers}
    spare = (f"worker-{number}" for number in range(1, wanted + len(workers) + 1))
    while len(workers) < wanted:
        name = next(candidate for candidate in spare if candidate not in names)
        workers.append(workers[0].model_copy(update={"name": name}))
    return [*(node for node in nodes if node.role != "worker"), *workers[:wanted]]
