"""The result of one load on the terminal: warnings first, then counts, latencies and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.analysis.known import all_known
from loadstone.cli.number_table import NumberTable
from loadstone.experiments.verdict import Verdict
from loadstone.model.records.summary import Latency, LoadWorker, TrialSummary
from loadstone.report import format

_LOST = {"late": "late", "errors": "errors", "timeouts": "timeouts", "unsent": "never sent", "in_flight": "unanswered"}
_STATISTICS = {"mean": "mean", "p50": "P50", "p90": "P90", "p99": "P99", "p999": "P99.9", "max": "max"}
_SHOWN_ERRORS = 8


def render(summary: TrialSummary, verdict: Verdict, title: str) -> RenderableType:
    """What was ``observed``, for a terminal, warnings first."""
    parts: list[RenderableType] = []
    if verdict.verdict == "invalid":
        parts += [Text(f"! {text}", "bold red") for text in verdict.reasons]
    parts += [Text(f"! {text}", "yellow") for text in verdict.warnings]
    parts += [Text(title, "bold"), Text(""), _counts(summary), Text(""), _latencies(summary)]
    if (made := summary.iterations) is not None and made.count > 1:
        lengths = f"mean {format.number(made.mean_s)} s, standard deviation {format.number(made.sd_s)} s"
        parts += [Text(""), Text(f"{made.count:,} iterations: {lengths}, together {format.number(made.total_s)} s")]
    if len(summary.operations) > 1:
        parts += [Text(""), _operations(summary)]
    if summary.errors:
        parts += [Text(""), _errors(summary)]
    parts += [Text(""), Text(" · ".join(_generator(summary)), "dim")]
    if verdict.verdict == "held":
        parts.append(Text("● held", "green"))
    elif verdict.verdict == "not held":
        parts += [Text(f"✕ not held: {text}", "red") for text in verdict.reasons]
    return Group(*parts)


def _counts(summary: TrialSummary) -> NumberTable:
    counts, window = summary.counts, summary.window_s
    offered = counts.offered
    table = NumberTable("", "requests", "per second", "")
    if not summary.is_closed:
        table.add_row("offered", format.count(offered), format.number(offered / window if offered else None), "")
    share = counts.completed / offered if offered else None
    table.add_row("completed", format.count(counts.completed), format.number(summary.throughput), format.percent(share))
    for key, word in _LOST.items():
        if lost := getattr(counts, key):
            share = lost / offered if offered else None
            table.add_row(Text(word, "red"), format.count(lost), "", format.percent(share))
        if key == "unsent" and counts.abandoned:
            table.add_row(Text("  abandoned: no connection within the timeout"), format.count(counts.abandoned), "", "")
    return table


def _latencies(summary: TrialSummary) -> NumberTable:
    table = NumberTable("ms, closed loop" if summary.is_closed else "ms", *_STATISTICS.values())
    of = summary.latency_ms
    rows = {"latency": of.intended, "service time": of.service, "late sends": of.lateness}
    for name, latency in rows.items():
        if latency is None and name == "latency":
            table.add_row(name, *(format.NOTHING for _ in _STATISTICS))
        elif latency is not None and latency.count:
            table.add_row(name, *(_shown(latency, key) for key in _STATISTICS))
    return table


def _shown(latency: Latency, statistic: str, shown: Callable[[float | None], str] = format.number) -> str:
    bound = latency.bound if statistic != "mean" else None
    return format.latency(latency.statistic(statistic), bound, shown)


def _operations(summary: TrialSummary) -> NumberTable:
    table = NumberTable("operation", "requests", "completed", "P50", "P99", "max")
    for operation in summary.operations:
        counts, latency = operation.counts, operation.latency_ms.intended
        done = format.percent(counts.completed / counts.offered) if counts.offered else format.NOTHING
        statistics = [
            _shown(latency, key, format.milliseconds) if latency is not None and latency.count else format.NOTHING
            for key in ("p50", "p99", "max")
        ]
        table.add_row(Text(operation.name), format.count(counts.offered), done, *statistics)
    return table


def _errors(summary: TrialSummary) -> NumberTable:
    table = NumberTable("what failed", "requests", wraps=True)
    for error in summary.errors[:_SHOWN_ERRORS]:
        several = len(summary.operations) > 1 and error.operation
        table.add_row(Text(f"{error.operation}: {error.kind}" if several else error.kind), f"{error.count:,}")
    more = len(summary.errors) - _SHOWN_ERRORS
    if more > 0:
        table.add_row(f"and {more} other kinds", "")
    return table


def _generator(summary: TrialSummary) -> Iterator[str]:
    used = summary.generator
    yield f"generator: {format.number(used.cpu_us_per_request)} us of CPU per request"
    yield f"{format.percent(used.cpu_share)} of its CPU"
    if used.wait is not None:
        yield f"wait {used.wait}"
    if used.workers:
        yield f"{len(used.workers)} load workers, {_clocks(used.workers)}"
    if used.own_lateness_p99_ms is not None:
        yield f"own lateness P99 {format.milliseconds(used.own_lateness_p99_ms)}"


def _clocks(workers: Sequence[LoadWorker]) -> str:
    offsets = all_known(worker.clock_offset_us for worker in workers)
    errors = all_known(worker.clock_error_us for worker in workers)
    if not offsets or not errors:
        return "clocks not compared"
    apart = max(abs(offset) + error for offset, error in zip(offsets, errors, strict=True))
    return f"clocks within {format.milliseconds(apart / 1000)}"
