"""The tidy row of a trial: what every figure and table reads."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loadstone.analysis.steady_state import SteadyState, steady_state
from loadstone.experiments.verdict import Verdict
from loadstone.model.columns import FACTOR_PREFIX
from loadstone.model.trial import Trial

_COUNTS = ("offered", "sent", "completed", "late", "errors", "timeouts", "unsent", "in_flight")
_LATENCIES = ("p50", "p75", "p90", "p95", "p99", "p999", "max", "mean")


def make_row(
    trial: Trial,
    started: datetime,
    summary: dict[str, Any] | None,
    verdict: Verdict,
    warnings: list[str],
    emulated: bool,
) -> dict[str, Any]:
    """One row of ``trials.parquet``; measured columns are null where there is no summary."""
    return {
        "trial_id": trial.id,
        "treatment_id": trial.treatment.id,
        "treatment": trial.treatment.label,
        **{FACTOR_PREFIX + name: level for name, level in trial.treatment.levels.items()},
        "phase": trial.phase,
        "repetition": trial.repetition,
        "number": trial.number,
        "rate": trial.rate,
        **(_measured(summary) if summary is not None else {}),
        "verdict": verdict.verdict,
        "reasons": list(verdict.reasons),
        "warnings": [*verdict.warnings, *warnings],
        "started": started.isoformat(timespec="milliseconds"),
        "emulated": emulated,
        "documents": trial.treatment.settings.documents,
    }


def _measured(summary: dict[str, Any]) -> dict[str, Any]:
    intended = summary["latency_ms"]["intended"]
    steady = _steady(summary)
    service = summary["latency_ms"]["service"]
    aborted = summary["aborted"]
    return {
        "window_s": summary["window_s"],
        **{name: summary["counts"][name] for name in _COUNTS},
        "violations": summary["violations"],
        "throughput": summary["throughput"],
        **{f"{name}_ms": _of(intended, name) for name in _LATENCIES},
        "service_p50_ms": _of(service, "p50"),
        "service_p99_ms": _of(service, "p99"),
        "lateness_p99_ms": _of(summary["latency_ms"]["lateness"], "p99"),
        "generator_cpu_share": summary["generator"]["cpu_share"],
        "generator_us_per_request": summary["generator"]["cpu_us_per_request"],
        "steady": steady.stationary if steady else None,
        "warmup_cut_s": steady.cut * summary["series"]["step_s"] if steady else None,
        "aborted_at_s": aborted["at_s"] if aborted else None,
    }


def _of(latency: dict[str, Any], statistic: str) -> float | None:
    """A statistic of a distribution; None where nothing was counted, which is not a latency of zero."""
    value: float = latency[statistic]
    return value if latency["count"] else None


def _steady(summary: dict[str, Any]) -> SteadyState | None:
    """The steady state of the latency's course; None for a trial cut short, whose fragment says nothing of it."""
    series = [mean for mean in summary["series"]["mean_ms"] if mean is not None]
    return steady_state(series) if series and not summary["aborted"] else None
