"""Writes down what the capacity model expects of a treatment before that is measured, and never again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import loadstone
from loadstone.analysis import capacity, summary
from loadstone.analysis.capacity import CannotFit, CapacityModel, Layout
from loadstone.analysis.capacity.registered import FOLDER, register
from loadstone.analysis.run import RunFolder, open_run
from loadstone.experiments import schedule
from loadstone.experiments.deployment import resolve_treatment
from loadstone.experiments.durable import recording, write_json
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from loadstone.experiments.reference_treatments import reference_of
from loadstone.model.cluster import Node
from loadstone.model.errors import InputError, LoadstoneError
from loadstone.model.trial import Treatment


def foretell(plan: Plan, ledger: Ledger) -> list[str]:
    """Register every prediction that can be made now and was not; returns what was registered, as sentences.

    A treatment is predicted once its base's first search is over, and only while it has no valid trial itself.
    """
    due = [treatment for treatment in plan.treatments if _due(plan, treatment, ledger)]
    if not due:
        return []
    run = open_run(ledger.folder)
    measured = summary.treatments(run)
    nodes = nodes_of(ledger.folder)
    scale = capacity.scale(capacity.registered(ledger.folder)[0], measured)
    models: dict[str, CapacityModel | None] = {}
    sentences = []
    for treatment in due:
        base = reference_of(plan.treatments, treatment)
        if base.id not in models:
            models[base.id] = _model(run, next(treatment for treatment in measured if treatment.id == base.id))
        if (model := models[base.id]) is not None:
            sentences += _register(plan, treatment, model, scale, nodes, ledger.folder)
    return sentences


def _due(plan: Plan, treatment: Treatment, ledger: Ledger) -> bool:
    base = reference_of(plan.treatments, treatment)
    if plan.study.load.capacity is None or base is treatment or _file(ledger.folder, treatment).exists():
        return False
    measured = any(
        record.treatment_id == treatment.id and record.outcome.verdict != "invalid" for record in ledger.records
    )
    return not measured and schedule.found(plan, (base, 1), ledger.records)


def _file(folder: Path, treatment: Treatment) -> Path:
    return folder / FOLDER / f"{treatment.id}.json"


def _model(run: RunFolder, base: summary.TreatmentSummary) -> CapacityModel | None:
    """None where the trials do not say enough: a study goes on without a prediction."""
    try:
        return capacity.fit(run, base)
    except CannotFit:
        return None


def _register(
    plan: Plan, treatment: Treatment, model: CapacityModel, scale: float, nodes: Sequence[Node], folder: Path
) -> list[str]:
    assert plan.study.load.capacity is not None
    try:
        layout = layout_of(plan, treatment, nodes)
    except LoadstoneError:  # what cannot be placed cannot be measured either, and says so then
        return []
    found = capacity.predict(model, layout, plan.study.load.capacity.precision, scale=scale)
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    file = _file(folder, treatment)
    with recording(folder):
        file.parent.mkdir(exist_ok=True)
    write_json(file, register(model, found, treatment.id, treatment.label, time, loadstone.__version__))
    interval = f"{found.value:,.0f} req/s [{found.low:,.0f}, {found.high:,.0f}]"
    return [f"predicted for {treatment.label}: {interval}, bounded by {found.bottleneck}"]


def layout_of(plan: Plan, treatment: Treatment, nodes: Sequence[Node]) -> Layout:
    """Where the treatment's replicas would be, with which limits."""
    return Layout.of(resolve_treatment(plan.deployable(treatment), nodes, "predicted"))


def nodes_of(folder: Path) -> list[Node]:
    """The nodes that a run's provenance lists, also one of an earlier release, which knew more of a node or less.

    Raises InputError where they cannot be read.
    """
    file = folder / "provenance.json"
    try:
        known = json.loads(file.read_text(encoding="utf-8"))["nodes"]
        return [Node.model_validate({name: node[name] for name in node if name in Node.model_fields}) for node in known]
    except (OSError, ValueError, KeyError, TypeError):
        remedy = "restore the file from a copy of the run"
        raise InputError(f"{file}: lists no nodes that can be read, so replicas cannot be placed; {remedy}") from None
