"""The result of ``loadstone predict``: as data, and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.analysis.capacity import CapacityModel, Layout, Prediction
from loadstone.analysis.capacity.layout import stations
from loadstone.analysis.capacity.sizing import TOLERANCE
from loadstone.report import format, sentences
from loadstone.report.console import titled

_MOST = 8


def of_model(model: CapacityModel) -> dict[str, Any]:
    """The model as data: demands in CPU-seconds per request, with their 95 % interval at the breaking point."""
    rows = []
    for name, demand in model.demands.items():
        rate = model.breaking_point.value / max(model.layout.count(name), 1)
        low, high = demand.interval(rate, model.draws[:, :3])
        limit = next((replica.limit for replica in model.layout.replicas if replica.service == name), None)
        cores = float(demand.cores(rate))
        rows.append(
            {
                "service": name,
                "cpu_s_per_request": demand.seconds(rate),
                "low": low,
                "high": high,
                "cores": cores * model.layout.count(name) if limit is None or cores <= limit else None,
                "limit_cores": limit,
                "utilisation": cores / limit if limit and cores <= limit else None,
                "loads": len({round(point.rate, 1) for point in demand.points}),
            }
        )
    return {
        "treatment": model.label,
        "breaking_point": asdict(model.breaking_point),
        "bottleneck": str(model.bottleneck),
        "utilisation": model.utilisation,
        "observed": model.observed,
        "contradicted": model.contradicted,
        "trials": list(model.trials),
        "demands": sorted(rows, key=lambda row: -row["cpu_s_per_request"]),
        "warnings": list(model.warnings),
    }


def of_prediction(prediction: Prediction) -> dict[str, Any]:
    """A prediction as data."""
    return {
        "breaking_point": prediction.value,
        "low": prediction.low,
        "high": prediction.high,
        "bottleneck": str(prediction.bottleneck),
        "utilisation": prediction.utilisation,
        "extrapolation": prediction.extrapolation,
        "alone": prediction.loads,
        "warnings": list(prediction.warnings),
    }


def at_rate(model: CapacityModel, layout: Layout, prediction: Prediction, rate: float) -> dict[str, Any]:
    """Whether a rate is below what is predicted, and the fullest services and nodes there."""
    fullest = sorted(stations(layout), key=lambda each: -float(model.used(each, rate)) / each.capacity)[:3]
    holds = "holds" if rate < prediction.low else "breaks" if rate > prediction.high else "cannot tell"
    shares = {str(each): float(model.used(each, rate)) / each.capacity for each in fullest}
    return {"rate": rate, "verdict": holds, "utilisation": shares}


def render(result: Mapping[str, Any]) -> RenderableType:
    """The result for a terminal."""
    model = result["model"]
    point = model["breaking_point"]
    measured = f"{format.rate(point['value'])} {format.interval(point['low'], point['high'])}"
    parts: list[RenderableType] = [
        Text.assemble(
            f"{model['treatment']}, measured: ",
            (measured, "bold"),
            f", bounded by {model['bottleneck']}",
            "" if model["observed"] is None else f", which used {model['observed']:.0%} of its CPU",
        ),
        *(
            [Text(sentences.contradiction(model["utilisation"], model["observed"]), "yellow")]
            if model["contradicted"]
            else []
        ),
        _demands(model["demands"]),
        _predictions(result["predictions"]),
    ]
    if result["registered"]:
        parts.append(_registered(result["registered"]))
    for row in result.get("at", {}).get("rates", []):
        shares = ", ".join(f"{name} {share:.0%}" for name, share in row["utilisation"].items())
        parts.append(Text(f"at {format.rate(row['rate'])}, {result['at']['what']}: {row['verdict']}; {shares}"))
    if "simulated" in result:
        parts += _simulated(result["simulated"])
    return Group(*parts)


def _demands(rows: list[dict[str, Any]]) -> Table:
    title = "CPU of a request at the measured breaking point, by service"
    table = titled(title, "service", "CPU ms", "95 % interval", "cores", "limit", "loads")
    for row in rows[:_MOST]:
        interval = Text(format.interval(1e3 * row["low"], 1e3 * row["high"]))
        cost, limit = format.number(1e3 * row["cpu_s_per_request"]), format.number(row["limit_cores"])
        table.add_row(row["service"], cost, interval, format.number(row["cores"]), limit, str(row["loads"]))
    return table


def _predictions(rows: list[dict[str, Any]]) -> Table:
    table = titled("Predicted breaking points", "what", "req/s", "95 % interval", "bounded by")
    for row in rows:
        value = Text(format.number(row["breaking_point"]), "bold")
        table.add_row(Text(row["what"]), value, Text(format.interval(row["low"], row["high"])), row["bottleneck"])
    return table


def _registered(rows: list[dict[str, Any]]) -> Table:
    table = titled(
        "Predictions registered before their treatments were measured",
        "treatment",
        "predicted",
        "measured",
        "error",
        "outcome",
    )
    for row in rows:
        interval = format.interval(row["predicted_low"], row["predicted_high"])
        measured = format.interval(row["measured_low"], row["measured_high"]) if row["measured"] else ""
        table.add_row(
            Text(row["treatment"]),
            Text(f"{format.number(row['predicted'])} {interval}"),
            Text(f"{format.number(row['measured'])} {measured}".strip()),
            "" if row["error"] is None else f"{100 * row['error']:+.1f} %",
            row["outcome"],
        )
    return table


def _simulated(simulation: Mapping[str, Any]) -> list[RenderableType]:
    table = titled(f"Simulated: {simulation['what']}", "req/s", "P50 ms", "P90 ms", "P99 ms", "P99.9 ms", "fullest")
    for row in simulation["rates"]:
        latencies = [format.number(row["latency_ms"][name]) for name in ("p50", "p90", "p99", "p999")]
        if not row["stable"]:
            latencies = ["does not keep up", "", "", ""]
        elif not simulation["validation"]["holds"]:
            latencies = ["keeps up", "", "", ""]
        fullest = f"{row['busiest']} {row['busiest_share']:.0%}"
        table.add_row(format.number(row["rate"]), *latencies, fullest)
    check = simulation["validation"]
    error = "the simulation could not be validated: no trial held the SLO"
    if check["error_p99"] is not None:
        middle = "" if check["error_p50"] is None else f"P50 by {check['error_p50']:.0%}, "
        error = f"error of the simulation at measured loads: {middle}P99 by {check['error_p99']:.0%} (median of trials)"
    if not check["holds"]:
        error += f"; latencies are given only where P99 is within {TOLERANCE:.0%}"
    return [table, Text(f"calls: {simulation['calls']}"), Text(error)]
