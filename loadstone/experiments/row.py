"""The tidy row of a trial: what every figure and table reads."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loadstone.analysis.steady_state_table import Judged, judge
from loadstone.experiments.instrument import answered
from loadstone.experiments.trial_runner import Measured
from loadstone.model.columns import FACTOR_PREFIX, of_window
from loadstone.model.trial import Trial

_COUNTS = ("offered", "sent", "completed", "late", "errors", "timeouts", "unsent", "abandoned", "in_flight", "skipped")
_LATENCIES = ("p50", "p75", "p90", "p95", "p99", "p999", "max", "mean")


def make_row(
    trial: Trial,
    started: datetime,
    measured: Measured,
    warnings: list[str],
    emulated: bool,
) -> dict[str, Any]:
    """One row of ``trials.parquet``; measured columns are null where there is no summary.

    Of a trial that was stopped early those of its whole window are null: it says when it broke, and nothing more.
    """
    summary, verdict = measured.summary, measured.verdict
    row = {
        "trial_id": trial.id,
        "treatment_id": trial.treatment.id,
        "treatment": trial.treatment.label,
        **{FACTOR_PREFIX + name: level for name, level in trial.treatment.levels.items()},
        "phase": trial.phase,
        "repetition": trial.repetition,
        "number": trial.number,
        "rate": trial.rate if trial.clients is not None or not summary else trial.rate or summary["offered_rate"],
        "clients": trial.clients,
        **(_measured(summary, trial.clients is not None) if summary is not None else {}),
        **(_traced(measured.observed) if measured.observed is not None else {}),
        "reference_before_ms": measured.reference_ms[0],
        "reference_after_ms": measured.reference_ms[1],
        "cpu_capacity": measured.cpu_capacity,
        "verdict": verdict.verdict,
        "reasons": list(verdict.reasons),
        "warnings": [*verdict.warnings, *warnings],
        "started": started.isoformat(timespec="milliseconds"),
        "emulated": emulated,
        "documents": trial.treatment.settings.documents,
    }
    return of_window(row)


def _measured(summary: dict[str, Any], clients: bool) -> dict[str, Any]:
    intended, service = summary["latency_ms"].get("intended"), summary["latency_ms"].get("service")
    # A client of a closed loop has no other intention than to send when it does.
    latency = service if intended is None and clients else intended
    if not answered(summary):  # of no answer at all only lower bounds are known
        latency = None
    steady = _steady(summary)
    generator, aborted = summary["generator"], summary["aborted"]
    return {
        "loop": summary.get("loop", "open"),
        "window_s": summary["window_s"],
        **{name: summary["counts"].get(name) for name in _COUNTS},
        "violations": summary.get("violations"),
        "throughput": summary["throughput"],
        **{f"{name}_ms": _of(latency, name) for name in _LATENCIES},
        "service_p50_ms": _of(service, "p50"),
        "service_p99_ms": _of(service, "p99"),
        "lateness_p99_ms": _of(summary["latency_ms"].get("lateness"), "p99"),
        "generator_cpu_share": generator["cpu_share"],
        "generator_us_per_request": generator["cpu_us_per_request"],
        "steady": steady.state.stationary if steady else None,
        "warmup_cut_s": steady.cut_s if steady else None,
        "aborted_at_s": aborted["at_s"] if aborted else None,
    }


def _traced(observed: dict[str, Any]) -> dict[str, Any]:
    """How many traces and spans came of those that services made; nothing where there was no tracing."""
    told = observed["traces"]
    if told is None or "received" not in told:
        return {}
    lost = None if told["produced"] is None else max(0, told["produced"] - told["written"])
    return {"traces": told["roots"], "spans": told["written"], "spans_lost": lost}


def _of(latency: dict[str, Any] | None, statistic: str) -> float | None:
    """A statistic of a distribution; None where it is not told, or nothing was counted: no latency is not 0 ms."""
    if latency is None or not latency["count"]:
        return None
    value: float | None = latency[statistic]
    return value


def _steady(summary: dict[str, Any]) -> Judged | None:
    """The steady state of the latency's course; None where it is not told, or of a trial that was cut short."""
    return None if summary["aborted"] else judge(summary["series"])
