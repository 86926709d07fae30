"""The tidy row of a trial: what every figure and table reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from loadstone.analysis.steady_state_table import judge
from loadstone.experiments.trial_runner import Measured
from loadstone.model.cluster import Node
from loadstone.model.records.observed import Observed
from loadstone.model.records.summary import Iterations, Latency, TrialSummary
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.trial import Trial

_COUNTS = ("offered", "sent", "completed", "late", "errors", "timeouts", "unsent", "abandoned", "in_flight", "skipped")
_LATENCIES = ("p50", "p75", "p90", "p95", "p99", "p999", "max", "mean")


def make_row(
    trial: Trial,
    order: int,
    started: datetime,
    measured: Measured,
    warnings: list[str],
    nodes: Sequence[Node],
    keeps_documents: bool,
) -> TrialRow:
    """The row of the trial that finished as the ``order``-th of its run, on ``nodes``.

    ``keeps_documents``: the application has a document store.
    """
    summary, verdict, settings = measured.summary, measured.verdict, trial.treatment.settings
    guest = next((node.guest for node in nodes if node.guest is not None), None)
    row = {
        "trial_id": trial.id,
        "treatment_id": trial.treatment.id,
        "treatment": trial.treatment.label,
        "factors": trial.treatment.levels,
        "phase": trial.phase,
        "repetition": trial.repetition,
        "number": trial.number,
        "order": order,
        "rate": _rate(trial, summary),
        "clients": trial.clients,
        **(_measured(summary, trial.clients) if summary is not None else {}),
        **(_traced(measured.observed) if measured.observed is not None else {}),
        "reference_before_ms": measured.reference_ms[0],
        "reference_after_ms": measured.reference_ms[1],
        "reference_during_ms": measured.machine.reference_ms,
        "cpu_capacity": measured.cpu_capacity,
        "verdict": verdict.verdict,
        "reasons": list(verdict.reasons),
        "warnings": [*verdict.warnings, *warnings],
        "started": started.isoformat(timespec="milliseconds"),
        "emulated": any(node.emulated for node in nodes),
        "environment": measured.environment,
        "accelerator": guest.accelerator if guest is not None else None,
        "nested": guest.nested if guest is not None else None,
        "steal_share": measured.machine.steal_share,
        "documents": settings.documents if keeps_documents else None,
    }
    return TrialRow.model_validate(row)


def _rate(trial: Trial, summary: TrialSummary | None) -> float:
    """The load of the trial; of a trace at its own pace what it came to."""
    given = trial.rate if trial.clients is not None or summary is None else trial.rate or summary.offered_rate
    return given or 0.0


def _measured(summary: TrialSummary, clients: int | None) -> dict[str, Any]:
    latencies = summary.observed().latency_ms
    latency, service, lateness = latencies.counted(clients), latencies.service, latencies.lateness
    # The course of a trial that was cut short says nothing of its whole window.
    steady = judge(summary.series) if summary.aborted is None else None
    return {
        "loop": summary.loop,
        "window_s": summary.window_s,
        **{name: getattr(summary.counts, name) for name in _COUNTS},
        "violations": summary.violations,
        "throughput": summary.throughput,
        **{f"{name}_ms": _of(latency, name) for name in _LATENCIES},
        "latency_bound_ms": latency.bound if latency is not None else None,
        "service_p50_ms": _of(service, "p50"),
        "service_p99_ms": _of(service, "p99"),
        "lateness_p99_ms": _of(lateness, "p99"),
        "generator_cpu_share": summary.generator.cpu_share,
        "generator_us_per_request": summary.generator.cpu_us_per_request,
        "steady": steady.state.stationary if steady is not None else None,
        "warmup_cut_s": steady.cut_s if steady is not None else None,
        "slots_missed": summary.slots_missed,
        **(_iterations(summary.iterations) if summary.iterations is not None else {}),
        "aborted_at_s": summary.aborted.at_s if summary.aborted is not None else None,
    }


def _iterations(found: Iterations) -> dict[str, Any]:
    return {
        "iterations": found.count,
        "iterations_s": found.total_s,
        "iteration_mean_s": found.mean_s,
        "iteration_sd_s": found.sd_s,
    }


def _traced(observed: Observed) -> dict[str, Any]:
    """How many traces and spans came of those that services made; nothing where there was no tracing."""
    spans = observed.traces
    if spans is None or spans.received is None:
        return {}
    lost = None
    if spans.produced is not None and spans.written is not None:
        lost = max(0, spans.produced - spans.written)
    return {"traces": spans.roots, "spans": spans.written, "spans_lost": lost}


def _of(latency: Latency | None, statistic: str) -> float | None:
    return latency.statistic(statistic) if latency is not None else None
