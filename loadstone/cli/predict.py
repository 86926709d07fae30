"""loadstone predict: the breaking point of other limits, placements and sizes, from measured trials; deploys
nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.app import Json, Results, Run, out, print_json, warn
from loadstone.experiments import runs
from loadstone.model.errors import InputError

if TYPE_CHECKING:  # a slow import that the help does not need
    from loadstone.analysis.capacity import CapacityModel, Layout, Prediction, Registered
    from loadstone.analysis.capacity.calls import Calls
    from loadstone.analysis.run import RunFolder
    from loadstone.analysis.summary import TreatmentSummary

EPILOG = (
    "Examples: [bold]loadstone predict[/], [bold]loadstone predict predict-scaling --set scaling=horizontal[/], "
    "[bold]loadstone predict --set resources.frontend.cpu=0.4 --rate 500 --simulate[/], "
    "[bold]loadstone predict --set cluster.workers=1000 --replicas all=1000 --rate 1000000 --simulate[/]"
)
_SHARES = (0.5, 0.8, 0.95)
"""Shares of the predicted breaking point: the rates to simulate by default."""
_PREDICTED = ("scaling", "placement", "resources", "replicas", "cluster", "load.capacity.slo")
"""Settings whose effect is predicted; any other may change what a request costs, too."""


def command(
    run: Run = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY.KEY=VALUE", help="A setting to change; repeatable."),
    ] = None,
    replicas: Annotated[
        list[str] | None,
        typer.Option("--replicas", metavar="SERVICE=N", help="Replicas of a service, or of all; repeatable."),
    ] = None,
    treatment: Annotated[
        str | None,
        typer.Option("--from", metavar="LABEL", help="The measured treatment: its label, or a part of it."),
    ] = None,
    rates: Annotated[
        list[float] | None,
        typer.Option("--rate", metavar="RATE", min=0.001, max=1e7, help="A load in requests per second; repeatable."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Also predict latencies at each rate, by simulation.")
    ] = False,
    parallel: Annotated[
        bool,
        typer.Option(
            "--parallel",
            help="Simulate services that call their dependencies in parallel instead of one after the other.",
        ),
    ] = False,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Predict breaking point and latencies of a deployment that was not measured, from the trials of a run."""
    from loadstone.analysis import capacity, summary
    from loadstone.analysis.capacity import simulation, sizing
    from loadstone.analysis.run import open_run
    from loadstone.cli import predicted
    from loadstone.experiments import predicting, what_if

    measured = open_run(runs.locate_one(results, run))
    found = _chosen(summary.treatments(measured), treatment)
    try:
        model = capacity.fit(measured, found)
    except capacity.CannotFit as missing:
        raise InputError(f"no prediction: {missing}") from None
    nodes = predicting.nodes_of(measured.folder)
    counts = what_if.replica_counts(replicas or [])
    wanted = [overrides or []] if overrides or counts else [["scaling=vertical"], ["scaling=horizontal"]]
    layouts = [what_if.supposed(measured.plan.document, found.id, nodes, settings, counts) for settings in wanted]
    objectives = [what_if.other_objective(measured.plan, settings) for settings in wanted]
    registered = _registered(measured)
    scale = capacity.scale(*registered)
    try:
        predictions = [
            (label, layout, _doubted(capacity.predict(model, layout, objective=objective, scale=scale), settings))
            for (label, layout), objective, settings in zip(layouts, objectives, wanted, strict=True)
        ]
    except ValueError as problem:
        raise InputError(f"no prediction: {problem}") from None
    result = predicted.PredictResult(
        run=str(measured.folder),
        model=predicted.of_model(model),
        predictions=[predicted.of_prediction(label, prediction) for label, _, prediction in predictions],
        registered=capacity.scores(*registered),
    )
    if rates or simulate:
        # Without overrides there are several suggestions and none is preferred: the measured deployment is shown.
        label, layout, prediction = predictions[0] if overrides or counts else _as_measured(model, scale)
        at_rates = [predicted.at_rate(model, layout, prediction, rate) for rate in rates or []]
        result = replace(result, at=predicted.RateVerdicts(label, at_rates))
        if simulate:
            rates = rates or [share * prediction.value for share in _SHARES]
            calls = _calls(measured, found, {replica.service for replica in model.layout.replicas}, parallel)
            check = sizing.validate(model, found, calls)
            cases = [
                simulation.simulate(layout, calls, sizing.work(model, layout, rate), rate, check.hop_s)
                for rate in rates
            ]
            result = replace(result, simulated=predicted.simulated(label, calls.source, check, cases))
    if json:
        print_json(result.as_json())
        return
    for text in _warnings({label: prediction.warnings for label, _, prediction in predictions}):
        warn(text)
    out.print(predicted.render(result))


def _chosen(treatments: list[TreatmentSummary], label: str | None) -> TreatmentSummary:
    """The treatment of that label; else the first with trials."""
    if label is None:
        measured = [treatment for treatment in treatments if treatment.trials]
        if not measured:
            raise InputError("this run has no finished trial; predictions are made from measured trials")
        return measured[0]
    if exact := [treatment for treatment in treatments if treatment.label == label]:
        return exact[0]
    found = [treatment for treatment in treatments if label in treatment.label]
    if len(found) != 1:
        known = ", ".join(treatment.label for treatment in found or treatments)
        raise InputError(f"--from {label!r} names {len(found) or 'no'} treatments; give one of: {known}")
    return found[0]


def _doubted(prediction: Prediction, settings: Sequence[str]) -> Prediction:
    """The prediction, with a warning for each setting of which it leaves something out."""
    doubts = [
        f"--set {setting}: only what it changes of replicas, limits and nodes is predicted, not what a request costs"
        for setting in settings
        if not f"{setting.partition('=')[0].strip()}.".startswith(tuple(f"{name}." for name in _PREDICTED))
    ]
    return replace(prediction, warnings=(*prediction.warnings, *doubts))


def _warnings(predictions: Mapping[str, Sequence[str]]) -> list[str]:
    """Each once; what holds for some predictions only begins with their labels."""
    having: dict[str, list[str]] = {}
    for label, texts in predictions.items():
        for text in texts:
            having.setdefault(text, []).append(label)
    everywhere = len(predictions)
    return [text if len(labels) == everywhere else f"{', '.join(labels)}: {text}" for text, labels in having.items()]


def _as_measured(model: CapacityModel, scale: float) -> tuple[str, Layout, Prediction]:
    from loadstone.analysis import capacity

    return "as measured", model.layout, capacity.predict(model, model.layout, scale=scale)


def _registered(measured: RunFolder) -> tuple[list[Registered], list[TreatmentSummary]]:
    from loadstone.analysis import capacity, summary

    found, wrong = capacity.registered(measured.folder)
    for text in wrong:
        warn(text)
    return found, summary.treatments(measured)


def _calls(measured: RunFolder, found: TreatmentSummary, deployed: set[str], parallel: bool) -> Calls:
    """From the traces of the treatment where they name the model's services, else from the application."""
    from loadstone.analysis import trace_cache
    from loadstone.analysis.capacity import calls
    from loadstone.analysis.schema import rows
    from loadstone.analysis.traced_rows import TracedHeat, TracedOperation

    application = measured.plan.application
    workload = next((each.settings.get("workload") for each in measured.plan.treatments if each.id == found.id), None)
    entry = application.entry_of(workload)
    seen = trace_cache.gather(measured, [found])
    requests: Counter[str] = Counter()
    for cell in rows(TracedHeat, seen.tables[TracedHeat.NAME]) if TracedHeat.NAME in seen.tables else ():
        requests[cell.trial_id] += cell.count
    by_trial: dict[str, list[TracedOperation]] = {}
    for row in rows(TracedOperation, seen.tables[TracedOperation.NAME]) if TracedOperation.NAME in seen.tables else ():
        by_trial.setdefault(row.trial_id, []).append(row)
    traced = {row.trial_id for row in found.trials if row.traces}
    for trial, mine in reversed(by_trial.items()):
        # Some of the entry's spans may lie within others of it, and some traces may be of no request.
        roots = min(sum(row.count for row in mine if row.service == entry and not row.peer), requests[trial])
        measured_calls = calls.of_traces(mine, entry, roots, parallel) if trial in traced and roots else None
        if measured_calls is not None and set(measured_calls.service) <= deployed and len(measured_calls.service) > 1:
            return measured_calls
    return calls.of_application(application, entry, deployed, parallel)
