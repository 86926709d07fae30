"""The columns of ``trials.parquet`` in one place: the ledger writes, the analysis reads and the docs print them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Type = Literal["text", "integer", "number", "boolean", "list of texts"]

FACTOR_PREFIX = "factor_"


@dataclass(frozen=True)
class Column:
    """One column. ``unit`` is empty where there is none; an ``optional`` one may be null."""

    name: str
    type: Type
    unit: str
    meaning: str
    optional: bool = False
    windowed: bool = False
    """Whether it speaks of the whole measured window, which a trial that was stopped early does not have."""


def _measured(name: str, type: Type, unit: str, meaning: str) -> Column:
    """A column that is null where a trial was invalid before it measured anything, or its driver does not report it."""
    return Column(name, type, unit, meaning, optional=True)


def _windowed(name: str, type: Type, unit: str, meaning: str) -> Column:
    """A measured column that speaks of the whole window, so that it is null where a trial was stopped early, too."""
    return Column(name, type, unit, meaning, optional=True, windowed=True)


def _latency(name: str, statistic: str) -> Column:
    meaning = f"{statistic} of the latency from the intended send time; in a closed loop from the actual one"
    return _windowed(name, "number", "ms", meaning)


_IDENTITY = (
    Column("trial_id", "text", "", "hash of the resolved treatment, load and repetition; names the trial's folder"),
    Column("treatment_id", "text", "", "hash of everything that is deployed"),
    Column("treatment", "text", "", "the treatment's levels, readable; the application where nothing is varied"),
)

_RESULT = (
    Column("phase", "text", "", "fixed (a rate), closed (clients); of a search: bracket (short), fine, confirm, model"),
    Column("repetition", "integer", "", "numbers equal trials at a fixed load, or the searches of a treatment"),
    Column("number", "integer", "", "position within its search; at a fixed load 1, or 2 where a baseline ran again"),
    Column("order", "integer", "", "position in the order in which the study ran its trials"),
    Column("rate", "number", "requests/s", "requested load, or that of a replayed trace; 0 in a closed loop"),
    Column("clients", "integer", "", "clients of a closed loop; null where requests were scheduled", optional=True),
    _measured("loop", "text", "", "open, or closed: clients that wait for answers send later, which hides latency"),
    _windowed("window_s", "number", "s", "measured window; all counts are of requests scheduled in it"),
    _windowed("offered", "integer", "requests", "scheduled in the window"),
    _windowed("sent", "integer", "requests", "really sent"),
    _windowed("completed", "integer", "requests", "answered well and in time"),
    _windowed("late", "integer", "requests", "answered well, later than the timeout from the intended send time"),
    _windowed("errors", "integer", "requests", "answered with an error"),
    _windowed("timeouts", "integer", "requests", "not answered within the timeout"),
    _windowed("unsent", "integer", "requests", "never sent"),
    _windowed(
        "abandoned", "integer", "requests", "of the unsent: their timeout had passed before a connection was free"
    ),
    _windowed("in_flight", "integer", "requests", "sent and still unanswered when the drain ended"),
    _windowed("skipped", "integer", "requests", "of the errors: steps not sent, as an earlier one had failed"),
    _windowed("violations", "integer", "requests", "not completed within the SLO's latency, failures included"),
    _windowed("throughput", "number", "requests/s", "completed within the window, divided by the window"),
    _latency("p50_ms", "median"),
    _latency("p75_ms", "75th percentile"),
    _latency("p90_ms", "90th percentile"),
    _latency("p95_ms", "95th percentile"),
    _latency("p99_ms", "99th percentile"),
    _latency("p999_ms", "99.9th percentile"),
    _latency("max_ms", "maximum"),
    _latency("mean_ms", "mean"),
    _windowed("service_p50_ms", "number", "ms", "median of the service time (from the actual send)"),
    _windowed("service_p99_ms", "number", "ms", "99th percentile of the service time"),
    _windowed("lateness_p99_ms", "number", "ms", "99th percentile of actual minus intended send time"),
    _measured("generator_cpu_share", "number", "share", "CPU that the load generator used, of what it had"),
    _measured("generator_us_per_request", "number", "us", "CPU time of the load generator per request"),
    _measured("reference_before_ms", "number", "ms", "a computation that is always the same, timed before the load"),
    _measured(
        "reference_after_ms", "number", "ms", "the same after the load; where it changes, the machine's speed did"
    ),
    _windowed(
        "cpu_capacity", "number", "requests/s", "load at which the busiest service would use all of its CPU limit"
    ),
    _windowed("steady", "boolean", "", "whether the window was stationary; null where this was not tested"),
    _windowed("warmup_cut_s", "number", "s", "warm-up found inside the window (MSER-5)"),
    _measured("traces", "integer", "traces", "requests whose entry service began a trace, warm-up included"),
    _measured("spans", "integer", "spans", "spans that were received and written"),
    _measured("spans_lost", "integer", "spans", "spans that services made and that were not written"),
    Column("verdict", "text", "", "held, not held, measured (without an SLO), or invalid: the trial itself failed"),
    Column("reasons", "list of texts", "", "why the trial did not hold or is invalid"),
    Column("warnings", "list of texts", "", "what is doubtful about the trial without making it invalid"),
    Column("started", "text", "", "start of the trial, RFC 3339"),
    _measured("aborted_at_s", "number", "s", "when a trial broke and was stopped, from the window's start; else null"),
    Column("emulated", "boolean", "", "some node is emulated: it shares the cores of one machine with others"),
    _measured("environment", "text", "", "what the replicas ran in, as read back; null where nothing was deployed"),
    Column("documents", "text", "", "the document store: postgres or mongodb"),
)


_WINDOWED = frozenset(column.name for column in _RESULT if column.windowed)


def of_window(row: dict[str, Any]) -> dict[str, Any]:
    """The row with null for all that a trial does not have which was stopped early: no number of its whole window.

    What its generator counted until then is in the trial's ``summary.json``; divided by the window that was planned, or
    ranked with requests that were cut off unanswered, it would pass for a throughput or a latency.
    """
    if row.get("aborted_at_s") is None:
        return row
    return {name: None if name in _WINDOWED else value for name, value in row.items()}


def columns(factors: Iterable[str] = ()) -> tuple[Column, ...]:
    """All columns in file order; each factor of the study has one of its own."""
    varied = (Column(FACTOR_PREFIX + name, "text", "", f"level of the factor {name}") for name in factors)
    return (*_IDENTITY, *varied, *_RESULT)


def _null(column: Column) -> str:
    return ", or null *" if column.windowed else ", or null" if column.optional else ""


def markdown() -> str:
    """The reference table of the columns, for the documentation."""
    factor = Column(FACTOR_PREFIX + "<name>", "text", "", "level of each factor that the study varies")
    rows = [
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
        *(
            f"| `{column.name}` | {column.type}{_null(column)} | {column.unit or '-'} | {column.meaning} |"
            for column in (*_IDENTITY, factor, *_RESULT)
        ),
    ]
    return "\n".join(rows) + "\n"
