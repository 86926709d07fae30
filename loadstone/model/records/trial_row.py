"""The tidy row of a trial: what every figure and table reads (docs/reference/columns.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, model_validator

from loadstone.model.records.base import Record, Whole
from loadstone.model.records.bounds import RANKED, beyond

FACTOR_PREFIX = "factor_"
TrialVerdict = Literal["held", "not held", "measured", "invalid"]
Texts = Annotated[tuple[str, ...], Field(strict=False)]


class Meaning(NamedTuple):
    """What a column holds. ``unit`` is empty where there is none."""

    text: str
    unit: str = ""
    windowed: bool = False
    """Whether it speaks of the whole measured window, which a trial that was stopped early does not have."""


def _windowed(text: str, unit: str = "") -> Meaning:
    return Meaning(text, unit, windowed=True)


def _latency(statistic: str) -> Meaning:
    text = f"{statistic} of the latency from the intended send time; in a closed loop from the actual one"
    return _windowed(text, "ms")


class TrialRow(Record):
    """One trial. A column may be null where a trial was invalid before it measured anything, or was not reported.

    A percentile that is a request without a good answer is None, too: only ``latency_bound_ms`` is known of it.

    Of a trial that was stopped early every number of its whole window is None. What its generator counted until then
    is in the trial's ``summary.json``; divided by the window that was planned, or ranked with requests that were cut
    off unanswered, it would pass for a throughput or a latency.
    """

    model_config = ConfigDict(strict=True)

    trial_id: Annotated[str, Meaning("hash of the resolved treatment, load and repetition; names the trial's folder")]
    treatment_id: Annotated[str, Meaning("hash of everything that is deployed")]
    treatment: Annotated[str, Meaning("the treatment's levels, readable; the application where nothing is varied")]
    factors: Annotated[dict[str, str], Meaning("level of each factor that the study varies")] = {}
    phase: Annotated[
        str, Meaning("fixed (a rate), closed (clients); of a search: bracket (short), fine, confirm, model")
    ]
    repetition: Annotated[Whole, Meaning("numbers equal trials at a fixed load, or the searches of a treatment")]
    number: Annotated[Whole, Meaning("position within its search; at a fixed load 1, or 2 where a baseline ran again")]
    order: Annotated[Whole, Meaning("position in the order in which the study ran its trials")]
    rate: Annotated[
        float,
        Field(ge=0, lt=2**63),
        Meaning("requested load, or that of a replayed trace; 0 in a closed loop", "requests/s"),
    ]
    clients: Annotated[Whole | None, Meaning("clients of a closed loop; null where requests were scheduled")] = None
    loop: Annotated[
        str | None, Meaning("open, or closed: clients that wait for answers send later, which hides latency")
    ] = None
    window_s: Annotated[float | None, _windowed("measured window; all counts are of requests scheduled in it", "s")] = (
        None
    )
    offered: Annotated[Whole | None, _windowed("scheduled in the window", "requests")] = None
    sent: Annotated[Whole | None, _windowed("really sent", "requests")] = None
    completed: Annotated[Whole | None, _windowed("answered well and in time", "requests")] = None
    late: Annotated[
        Whole | None, _windowed("answered well, later than the timeout from the intended send time", "requests")
    ] = None
    errors: Annotated[Whole | None, _windowed("answered with an error", "requests")] = None
    timeouts: Annotated[Whole | None, _windowed("not answered within the timeout", "requests")] = None
    unsent: Annotated[Whole | None, _windowed("never sent", "requests")] = None
    abandoned: Annotated[
        Whole | None,
        _windowed("of the unsent: their timeout had passed before a connection was free", "requests"),
    ] = None
    in_flight: Annotated[Whole | None, _windowed("sent and still unanswered when the drain ended", "requests")] = None
    skipped: Annotated[
        Whole | None, _windowed("of the errors: steps not sent, as an earlier one had failed", "requests")
    ] = None
    violations: Annotated[
        Whole | None, _windowed("not completed within the SLO's latency, failures included", "requests")
    ] = None
    throughput: Annotated[
        float | None, _windowed("completed within the window, divided by the window", "requests/s")
    ] = None
    p50_ms: Annotated[float | None, _latency("median")] = None
    p75_ms: Annotated[float | None, _latency("75th percentile")] = None
    p90_ms: Annotated[float | None, _latency("90th percentile")] = None
    p95_ms: Annotated[float | None, _latency("95th percentile")] = None
    p99_ms: Annotated[float | None, _latency("99th percentile")] = None
    p999_ms: Annotated[float | None, _latency("99.9th percentile")] = None
    max_ms: Annotated[float | None, _latency("maximum")] = None
    mean_ms: Annotated[
        float | None,
        _windowed("mean latency of good answers alone; null in runs of earlier releases with failures", "ms"),
    ] = None
    latency_bound_ms: Annotated[
        float | None,
        _windowed("what those of p50_ms to max_ms exceed that are null, as too few requests were answered well", "ms"),
    ] = None
    service_p50_ms: Annotated[float | None, _windowed("median of the service time (from the actual send)", "ms")] = None
    service_p99_ms: Annotated[float | None, _windowed("99th percentile of the service time", "ms")] = None
    slots_missed: Annotated[
        Whole | None,
        _windowed("of a paced closed loop: slots that passed while their client waited; null without a pace", "slots"),
    ] = None
    iterations: Annotated[
        Whole | None, _windowed("iterations of all clients, where a closed loop ends by its number of requests")
    ] = None
    iterations_s: Annotated[float | None, _windowed("what these took together", "s")] = None
    iteration_mean_s: Annotated[float | None, _windowed("mean of what they took", "s")] = None
    iteration_sd_s: Annotated[float | None, _windowed("standard deviation of what they took", "s")] = None
    lateness_p99_ms: Annotated[float | None, _windowed("99th percentile of actual minus intended send time", "ms")] = (
        None
    )
    generator_cpu_share: Annotated[
        float | None, Meaning("CPU that the load generator used, of what it had", "share")
    ] = None
    generator_us_per_request: Annotated[float | None, Meaning("CPU time of the load generator per request", "us")] = (
        None
    )
    reference_before_ms: Annotated[
        float | None, Meaning("a computation that is always the same, timed before the load", "ms")
    ] = None
    reference_after_ms: Annotated[
        float | None, Meaning("the same after the load; where it changes, the machine's speed did", "ms")
    ] = None
    reference_during_ms: Annotated[
        float | None,
        Meaning(
            "the same by its processor time, from samples 7 times a second on the slowest node with"
            " replicas, in the window or until the trial was stopped",
            "ms",
        ),
    ] = None
    cpu_capacity: Annotated[
        float | None,
        _windowed("load at which the busiest service would use all of its CPU limit", "requests/s"),
    ] = None
    steady: Annotated[bool | None, _windowed("whether the window was stationary; null where this was not tested")] = (
        None
    )
    warmup_cut_s: Annotated[float | None, _windowed("warm-up found inside the window (MSER-5)", "s")] = None
    traces: Annotated[
        Whole | None, Meaning("requests whose entry service began a trace, warm-up included", "traces")
    ] = None
    spans: Annotated[Whole | None, Meaning("spans that were received and written", "spans")] = None
    spans_lost: Annotated[Whole | None, Meaning("spans that services made and that were not written", "spans")] = None
    verdict: Annotated[
        TrialVerdict, Meaning("held, not held, measured (without an SLO), or invalid: the trial itself failed")
    ]
    reasons: Annotated[Texts, Meaning("why the trial did not hold or is invalid")]
    warnings: Annotated[Texts, Meaning("what is doubtful about the trial without making it invalid")]
    started: Annotated[str, Meaning("start of the trial, RFC 3339")]
    aborted_at_s: Annotated[
        float | None, Meaning("when a trial broke and was stopped, from the window's start; else null", "s")
    ] = None
    emulated: Annotated[bool, Meaning("some node is emulated: it shares the cores of one machine with others")]
    environment: Annotated[
        str | None, Meaning("what the replicas ran in, as read back; null where nothing was deployed")
    ] = None
    accelerator: Annotated[
        str | None, Meaning("of virtual machines that the study made: kvm, or tcg (software); null without any")
    ] = None
    nested: Annotated[
        bool | None, Meaning("whether these virtual machines ran in a virtual machine; null without any")
    ] = None
    steal_share: Annotated[
        float | None,
        Meaning(
            "processor time that a hypervisor gave to others, of the node that lost most, in the window or until the"
            " trial was stopped",
            "share",
        ),
    ] = None
    documents: Annotated[
        str | None, Meaning("the document store: postgres or mongodb; null of an application without one")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _of_columns(cls, data: Any) -> Any:
        """Columns of factors become ``factors``; a trial that was stopped has no number of its whole window, and a
        row of an earlier release no percentile that is only a lower bound."""
        if not isinstance(data, Mapping):
            return data
        cut = WINDOWED if data.get("aborted_at_s") is not None else ()
        kept = {name: value for name, value in data.items() if name not in cut}
        if "latency_bound_ms" not in data:
            kept |= _bounded(kept)
        levels = {
            name.removeprefix(FACTOR_PREFIX): level
            for name, level in data.items()
            if name.startswith(FACTOR_PREFIX) and level is not None
        }
        return {"factors": levels, **kept}

    @property
    def load(self) -> float:
        """Requests/s offered; in a closed loop, which offers none, its clients."""
        return float(self.rate if self.clients is None else self.clients)

    @property
    def valid(self) -> bool:
        """Whether the trial itself succeeded, whatever the system under test did."""
        return self.verdict != "invalid"

    @property
    def stopped(self) -> bool:
        """Whether it was stopped early, so that it has no number of its whole window."""
        return self.aborted_at_s is not None

    @property
    def timed(self) -> bool:
        """Whether it measures: virtual machines whose processors are software show that something works, not how fast.
        Such a trial is compared with nothing, predicts nothing, and is no result of its study."""
        return self.accelerator != "tcg"

    @property
    def repeatable(self) -> bool:
        """Whether its load was fixed, by a rate or by clients, rather than chosen by a search."""
        return self.phase in ("fixed", "closed")

    def columns(self) -> dict[str, Any]:
        """The row as ``trials.parquet`` has it, with a column for each factor."""
        found: dict[str, Any] = {}
        for name, value in self:
            if name == "factors":
                found |= {FACTOR_PREFIX + factor: level for factor, level in value.items()}
            else:
                found[name] = list(value) if isinstance(value, tuple) else value
        return found


def _bounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """What changes in a row of an earlier release, which had lower bounds among its latencies."""
    offered, completed, late = (row.get(name) for name in ("offered", "completed", "late"))
    if offered is None or completed is None or late is None or completed + late >= offered:
        return {}
    names, bound = beyond({name: row.get(f"{name}_ms") for name in RANKED}, offered, completed + late)
    changed = {f"{name}_ms": None for name in (*names, "mean")}
    return {**changed, "latency_bound_ms": bound if completed + late else None}


WINDOWED = frozenset(
    name
    for name, field in TrialRow.model_fields.items()
    if any(isinstance(meta, Meaning) and meta.windowed for meta in field.metadata)
)
"""The columns that speak of the whole measured window."""
