"""The page's part of the capacity model: what requests cost, what was predicted, and how that did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadstone.analysis import capacity
from loadstone.analysis.capacity import CannotFit, CapacityModel, Score
from loadstone.analysis.drift import NOTABLE
from loadstone.analysis.schema import tables
from loadstone.report import format, sentences
from loadstone.report.content import Content
from loadstone.report.demand_rows import DemandPoint, DemandRow
from loadstone.report.figures import model as figures
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

_MOST_MODELS, _MOST_SERVICES, _CURVE = 4, 8, 25
_KINDS = (
    Kind(
        "predictions",
        figures.predictions,
        "Predicted before it was measured",
        "Breaking points with their 95 % intervals: above what the capacity model expected, below what was measured.",
        "predictions",
    ),
    Kind(
        "demands",
        figures.demands,
        "CPU cost of a request by service",
        "CPU time per request against the load, of the services that use most. The curve with its 95 % band is fitted "
        "to the trials that are drawn, as far as the breaking point; beyond their loads it is extrapolated.",
        "demand_curves",
    ),
)


def gather(content: Content) -> Section | None:
    """None where no breaking point was searched for, or the CPU was not recorded."""
    if not content.run.searches:
        return None
    registered, wrong = capacity.registered(content.run.folder)
    scores = capacity.scores(registered, content.treatments)
    models, doubts = _models(content, {prediction.base_id for prediction in registered})
    if not models and not registered:
        return None
    demands = [row for model in models for row in _demands(model)]
    curves = [row for model in models for row in _curves(model)]
    late = [score.treatment for score in scores if score.before is False]
    return Section(
        name="model",
        title="Capacity model",
        explains=True,
        tables=tables((Score, scores), (DemandRow, demands), (DemandPoint, curves)),
        kinds=_KINDS,
        shown={
            "scores": scores,
            "demands": [row for model in models for row in _demands(model)[:_MOST_SERVICES]],
            "models": [_model_sentence(model) for model in models],
            "doubts": list(
                dict.fromkeys([*doubts, *(text for prediction in registered for text in prediction.warnings)])
            ),
            "several": len(models) > 1,
        },
        answers=_answers(scores),
        cautions=[*wrong, *(f"{name} was measured before its prediction was registered" for name in late)],
    )


def _models(content: Content, wanted: set[str]) -> tuple[list[CapacityModel], list[str]]:
    """Models of the treatments that predictions were made from, or of the first that gives one where there are none;
    and what is doubtful about them."""
    found: list[CapacityModel] = []
    doubts: list[str] = []
    for treatment in content.treatments:
        if len(found) >= _MOST_MODELS or (wanted and treatment.id not in wanted) or (found and not wanted):
            continue
        try:
            found.append(capacity.fit(content.run, treatment))
            doubts += [f"{treatment.label}: {text}" for text in found[-1].warnings]
        except CannotFit:
            continue
    return found, doubts


def _model_sentence(model: CapacityModel) -> str:
    point = model.breaking_point
    measured = f"{format.rate(point.value)} {format.interval(point.low, point.high)}"
    broke = f"**{model.label}** broke at {measured}; the fullest was **{model.bottleneck}**."
    if model.contradicted:
        return f"{broke} {sentences.contradiction(model.utilisation, model.observed)}"
    seen = f" Below that load it used {format.percent(model.observed)} of its CPU." if model.observed else ""
    if model.pressed is not None:
        return f"{broke}{seen} The effect of its CPU quota on the objective is simulated, also for other layouts."
    return (
        f"{broke}{seen} At the CPU cost of a request below saturation, that load takes"
        f" {format.percent(model.utilisation)}; other layouts are assumed to sustain the same."
    )


def _demands(model: CapacityModel) -> list[DemandRow]:
    rows = []
    for service, demand in model.demands.items():
        count = model.layout.count(service)
        rate = model.breaking_point.value / count
        low, high = demand.interval(rate, model.draws[:, :3])
        limit = next(replica.limit for replica in model.layout.replicas if replica.service == service)
        cores = float(demand.cores(rate))
        rows.append(
            DemandRow(
                treatment=model.label,
                service=service,
                tier=demand.tier,
                replicas=count,
                cpu_ms=1e3 * demand.seconds(rate),
                cpu_ms_low=1e3 * low,
                cpu_ms_high=1e3 * high,
                cores=cores * count if limit is None or cores <= limit else None,
                limit_cores=limit,
                share=cores / limit if limit and cores <= limit else None,
                loads=len({round(point.rate, 1) for point in demand.points}),
            )
        )
    return sorted(rows, key=lambda row: -row.cpu_ms)


def _curves(model: CapacityModel) -> list[DemandPoint]:
    """Trials and the fitted curve with its band, of the services with the highest demand."""
    rows = []
    for service in [row.service for row in _demands(model)[:_MOST_SERVICES]]:
        demand, count = model.demands[service], model.layout.count(service)
        for point in demand.points:
            cost = 1e3 * point.demand
            trial = DemandPoint(
                treatment=model.label, service=service, load=point.rate * count, cpu_ms=cost, trial_id=point.trial
            )
            rows.append(trial)
        lowest = min(point.rate for point in demand.points)
        for rate in map(float, np.linspace(lowest, model.breaking_point.value / count, _CURVE)):
            low, high = demand.interval(rate, model.draws[:, :3])
            fitted = DemandPoint(
                treatment=model.label,
                service=service,
                load=rate * count,
                cpu_ms=1e3 * demand.seconds(rate),
                low=1e3 * low,
                high=1e3 * high,
            )
            rows.append(fitted)
    return rows


def _pace(slower: float | None) -> str:
    """How the machine differed from that of the base, where that matters."""
    if slower is None or abs(slower) <= NOTABLE:
        return ""
    pace = f"{format.percent(slower)} slower" if slower > 0 else f"{format.percent(1 / (1 + slower) - 1)} faster"
    return f", while the machine was {pace} than for its base"


def _answers(scores: Sequence[Score]) -> list[str]:
    answers = []
    for row in scores:
        if row.measured is None or row.error is None or row.before is False:
            continue
        predicted = f"{format.number(row.predicted)} {format.interval(row.predicted_low, row.predicted_high)}"
        measured = f"{format.number(row.measured)} {format.interval(row.measured_low, row.measured_high)}"
        answers.append(
            f"{row.treatment}: predicted **{predicted} req/s**, bounded by {row.bottleneck}, then measured"
            f" **{measured}**: {format.percent(abs(row.error))} too {'high' if row.error > 0 else 'low'},"
            f" a {row.outcome}{_pace(row.slower)}."
        )
    return answers
