"""The result of ``loadstone predict``: as data, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.capacity import CapacityModel, Layout, Prediction
from loadstone.analysis.capacity.layout import stations
from loadstone.analysis.capacity.registered import Score
from loadstone.analysis.capacity.simulation import SimulatedLoad
from loadstone.analysis.capacity.sizing import TOLERANCE, Validation
from loadstone.report import format, sentences
from loadstone.report.console import titled

_MOST = 8
_SHOWN = {"p50": "P50", "p90": "P90", "p99": "P99", "p999": "P99.9"}
"""Percentiles of simulated latencies."""


@dataclass(frozen=True)
class ServiceDemand:
    """What a request costs a service at the measured breaking point, with the ends of the 95 % interval.

    ``cores`` and ``utilisation`` are None where the service would need more than its limit.
    """

    service: str
    cpu_s_per_request: float
    low: float
    high: float
    cores: float | None
    limit_cores: float | None
    utilisation: float | None
    loads: int
    """At how many loads it was measured."""


@dataclass(frozen=True)
class MeasuredModel:
    """The model of the measured treatment; the most expensive service first."""

    treatment: str
    breaking_point: Estimate
    bottleneck: str
    utilisation: float
    observed: float | None
    contradicted: bool
    trials: list[str]
    demands: list[ServiceDemand]
    warnings: list[str]


@dataclass(frozen=True)
class PredictedPoint:
    """A predicted breaking point in requests/s. ``alone``: what each service and node could take, were the others
    without limit."""

    what: str
    breaking_point: float
    low: float
    high: float
    bottleneck: str
    utilisation: float
    extrapolation: float
    alone: dict[str, float]
    warnings: list[str]


@dataclass(frozen=True)
class RateVerdict:
    """Whether a rate holds, and the shares of their capacity that the fullest services and nodes use there.

    None of them where it breaks: what is full keeps requests from the others.
    """

    rate: float
    verdict: str
    utilisation: dict[str, float]


@dataclass(frozen=True)
class RateVerdicts:
    """Verdicts on rates of one layout."""

    what: str
    rates: list[RateVerdict]


@dataclass(frozen=True)
class SimulatedLatencies:
    """Latencies of one layout by rate; None where the simulation did not agree with what was measured."""

    calls: str
    """Where the calls between services are from."""
    validation: Validation
    rates: list[SimulatedLoad]
    what: str


@dataclass(frozen=True)
class PredictResult:
    """All that ``loadstone predict`` prints."""

    run: str
    model: MeasuredModel
    predictions: list[PredictedPoint]
    registered: list[Score]
    at: RateVerdicts | None = None
    simulated: SimulatedLatencies | None = None

    def as_json(self) -> dict[str, Any]:
        """For ``--json``: what was not requested is left out."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def of_model(model: CapacityModel) -> MeasuredModel:
    """The model with its demands at the breaking point."""
    demands = [_demand(model, name) for name in model.demands]
    return MeasuredModel(
        treatment=model.label,
        breaking_point=model.breaking_point,
        bottleneck=str(model.bottleneck),
        utilisation=model.utilisation,
        observed=model.observed,
        contradicted=model.contradicted,
        trials=list(model.trials),
        demands=sorted(demands, key=lambda demand: -demand.cpu_s_per_request),
        warnings=list(model.warnings),
    )


def _demand(model: CapacityModel, service: str) -> ServiceDemand:
    demand, replicas = model.demands[service], model.layout.count(service)
    rate = model.breaking_point.value / max(replicas, 1)
    low, high = demand.interval(rate, model.draws[:, :3])
    limit = next((replica.limit for replica in model.layout.replicas if replica.service == service), None)
    cores = float(demand.cores(rate))
    return ServiceDemand(
        service=service,
        cpu_s_per_request=demand.seconds(rate),
        low=low,
        high=high,
        cores=cores * replicas if limit is None or cores <= limit else None,
        limit_cores=limit,
        utilisation=cores / limit if limit and cores <= limit else None,
        loads=len({round(point.rate, 1) for point in demand.points}),
    )


def of_prediction(what: str, prediction: Prediction) -> PredictedPoint:
    """The prediction for ``what``."""
    return PredictedPoint(
        what=what,
        breaking_point=prediction.value,
        low=prediction.low,
        high=prediction.high,
        bottleneck=str(prediction.bottleneck),
        utilisation=prediction.utilisation,
        extrapolation=prediction.extrapolation,
        alone=prediction.loads,
        warnings=list(prediction.warnings),
    )


def at_rate(model: CapacityModel, layout: Layout, prediction: Prediction, rate: float) -> RateVerdict:
    """Whether a rate is below what is predicted, and the fullest services and nodes there."""
    if rate > prediction.high:
        return RateVerdict(rate, "breaks", {})
    shares = {str(station): model.share(station, rate) for station in stations(layout)}
    fullest = sorted(shares, key=lambda name: -shares[name])[:3]
    holds = "holds" if rate < prediction.low else "cannot tell"
    return RateVerdict(rate, holds, {name: shares[name] for name in fullest})


def simulated(what: str, calls: str, check: Validation, cases: Sequence[SimulatedLoad]) -> SimulatedLatencies:
    """Simulated loads with those percentiles and verdicts for which the simulation is valid."""
    given = [
        replace(
            case,
            stable=case.stable or (None if check.contradicted else False),
            latency_ms={name: ms if check.holds(name) else None for name, ms in case.latency_ms.items()},
        )
        for case in cases
    ]
    return SimulatedLatencies(calls, check, given, what)


def render(result: PredictResult) -> RenderableType:
    """The result for a terminal."""
    model, point = result.model, result.model.breaking_point
    measured = f"{format.rate(point.value)} {format.interval(point.low, point.high)}"
    parts: list[RenderableType] = [
        Text.assemble(
            f"{model.treatment}, measured: ",
            (measured, "bold"),
            f", bounded by {model.bottleneck}",
            "" if model.observed is None else f", which used {model.observed:.0%} of its CPU",
        )
    ]
    if model.contradicted:
        parts.append(Text(sentences.contradiction(model.utilisation, model.observed), "yellow"))
    parts += [_demands(model.demands), _predictions(result.predictions)]
    if result.registered:
        parts.append(_registered(result.registered))
    if result.at is not None:
        for row in result.at.rates:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in row.utilisation.items())
            verdict = "; ".join(filter(None, (row.verdict, shares)))
            parts.append(Text(f"at {format.rate(row.rate)}, {result.at.what}: {verdict}"))
    if result.simulated is not None:
        parts += _simulated(result.simulated)
    return Group(*parts)


def _demands(rows: Sequence[ServiceDemand]) -> Table:
    title = "CPU of a request at the measured breaking point, by service"
    table = titled(title, "service", "CPU ms", "95 % interval", "cores", "limit", "loads")
    for row in rows[:_MOST]:
        interval = Text(format.interval(1e3 * row.low, 1e3 * row.high))
        cost, limit = format.number(1e3 * row.cpu_s_per_request), format.number(row.limit_cores)
        table.add_row(row.service, cost, interval, format.number(row.cores), limit, str(row.loads))
    return table


def _predictions(rows: Sequence[PredictedPoint]) -> Table:
    table = titled("Predicted breaking points", "what", "req/s", "95 % interval", "bounded by")
    for row in rows:
        value = Text(format.number(row.breaking_point), "bold")
        table.add_row(Text(row.what), value, Text(format.interval(row.low, row.high)), row.bottleneck)
    return table


def _registered(rows: Sequence[Score]) -> Table:
    table = titled(
        "Predictions registered before their treatments were measured",
        "treatment",
        "predicted",
        "measured",
        "error",
        "outcome",
    )
    for row in rows:
        interval = format.interval(row.predicted_low, row.predicted_high)
        measured = format.interval(row.measured_low, row.measured_high) if row.measured else ""
        table.add_row(
            Text(row.treatment),
            Text(f"{format.number(row.predicted)} {interval}"),
            Text(f"{format.number(row.measured)} {measured}".strip()),
            "" if row.error is None else f"{100 * row.error:+.1f} %",
            row.outcome,
        )
    return table


def _simulated(simulation: SimulatedLatencies) -> list[RenderableType]:
    heads = (f"{name} ms" for name in _SHOWN.values())
    table = titled(f"Simulated: {simulation.what}", "req/s", *heads, "fullest")
    for row in simulation.rates:
        latencies = [format.number(row.latency_ms[name]) for name in _SHOWN]
        if not row.stable:
            latencies = ["cannot tell" if row.stable is None else "does not keep up", "", "", ""]
        elif not any(row.latency_ms.values()):
            latencies = ["keeps up", "", "", ""]
        fullest = format.NOTHING if row.busiest_share is None else f"{row.busiest} {row.busiest_share:.0%}"
        table.add_row(format.number(row.rate), *latencies, fullest)
    check = simulation.validation
    errors = {name: error for name, error in check.errors.items() if error is not None and name in _SHOWN}
    error = "the simulation could not be validated: no trial held the SLO"
    if errors:
        each = ", ".join(f"{_SHOWN[name]} by {error:.0%}" for name, error in errors.items())
        error = f"error of the simulation at measured loads of this treatment: {each} (median of trials)"
    if not all(map(check.holds, _SHOWN)):
        error += f"; a percentile is given only where it is within {TOLERANCE:.0%}"
    if check.contradicted:
        loads = f"{check.contradicted} of these {len(check.cases)} loads"
        error += f"; it does not keep up with {loads}, which all held"
    return [table, Text(f"calls: {simulation.calls}"), Text(error)]
