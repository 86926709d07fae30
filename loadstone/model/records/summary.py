"""``summary.json``: what a load generator counted and measured in one trial (docs/reference/summary.md).

``stone load`` writes it, and the adapters make it of what another generator reports: None is what it does not report.
Counts are of the requests whose intended time lies in the measured window; times ``_s`` are seconds, ``_ms``
milliseconds; loads are requests/s.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from loadstone.model.records.base import Items, Record, Whole
from loadstone.model.records.bounds import RANKED, beyond, is_bound

Point = tuple[float, float | None, float | None]
"""Percentile; latency in ms from the intended send time, and from the actual one."""
_NAMED = {percentile: name for name, percentile in RANKED.items() if name != "max"}


class Counts(Record):
    """offered = completed + late + errors + timeouts + unsent + in_flight = sent + unsent + skipped."""

    offered: Whole | None = None
    sent: Whole | None = None
    completed: Whole
    late: Whole | None = None
    errors: Whole | None = None
    timeouts: Whole | None = None
    unsent: Whole | None = None
    in_flight: Whole | None = None
    skipped: Whole | None = None
    """Steps among the errors that were not sent, as an earlier one had failed."""
    abandoned: Whole | None = None
    """Requests among the unsent whose timeout had passed before a connection was free."""

    @property
    def lost(self) -> int:
        """Requests that did not complete, as far as they are reported."""
        parts = (self.errors, self.timeouts, self.late, self.unsent, self.in_flight)
        return sum(part or 0 for part in parts)

    @property
    def answers(self) -> int:
        """Good answers, in time or late: requests whose latency is known."""
        return self.completed + (self.late or 0)

    @property
    def answered(self) -> bool:
        """Whether any request was answered well, so that there are latencies at all."""
        return bool(self.answers)


class Latency(Record):
    """One distribution, in ms; its numbers mean nothing where ``count`` is 0."""

    count: Whole
    answered: Whole | None = None
    """Requests with a good answer: ``mean`` is theirs, and percentiles beyond them are lower bounds. None
    where all of ``count`` were answered, and in runs of earlier releases, whose mean is of all."""
    bound: float | None = None
    """Where only what was observed is given: what the percentiles and the maximum that are None exceed."""
    mean: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None

    def statistic(self, name: str) -> float | None:
        """``p99``, ``mean``, ...; None where it is not reported, or nothing was counted: no latency is not 0 ms."""
        value: float | None = getattr(self, name)
        return value if self.count else None

    def observed(self, answered: int) -> Latency:
        """The same without what requests without a good answer decide, where only ``answered`` of all have one."""
        if answered >= self.count:
            return self
        names, bound = beyond(dict(self), self.count, answered)
        mean = self.mean if self.answered is not None else None
        return self.model_copy(update={**dict.fromkeys(names), "mean": mean, "bound": bound})


class Latencies(Record):
    """From the intended send time, from the actual one, and how much later the one is than the other."""

    intended: Latency | None = None
    service: Latency | None = None
    lateness: Latency | None = None

    @property
    def best(self) -> Latency | None:
        """From the intended send time; from the actual one where there is no other."""
        return self.intended if self.intended is not None else self.service

    def observed(self, counts: Counts) -> Latencies:
        """The same with what was observed alone; nothing but the lateness where no request was answered well."""
        if not counts.answered:
            return Latencies(lateness=self.lateness)
        if self.intended is None or self.intended.count != counts.offered:  # another generator's, of its answers alone
            return self
        return self.model_copy(update={"intended": self.intended.observed(counts.answers)})

    def counted(self, clients: int | None) -> Latency | None:
        """What a result is: a client of a closed loop has no other intention than to send when it does."""
        return self.service if self.intended is None and clients else self.intended


class ByGenerator(Record):
    """What the generator alone caused: violations, answers that came late, and requests that were never sent."""

    violations: Whole = 0
    late: Whole = 0
    unsent: Whole = 0
    neglected: Whole = 0
    """Requests among the unsent for which a connection was free: load that was not offered."""


class LessOwn(Record):
    """What a verdict looks at besides counts, less what the generator alone caused."""

    latency_ms: Latency
    spectrum: Items[tuple[float, float]]
    backlog: Items[Whole]
    """At the end of each batch."""

    def observed(self, answered: int) -> LessOwn:
        """The same without what requests without a good answer decide."""
        latency = self.latency_ms.observed(answered)
        points = tuple(point for point in self.spectrum if not is_bound(point[0], latency.count, answered))
        return self.model_copy(update={"latency_ms": latency, "spectrum": points})


class Totals(Record):
    """Counts of all requests of an operation, those of the warm-up too."""

    sent: Whole | None = None
    completed: Whole


class OperationSummary(Record):
    """One operation's part."""

    name: str
    counts: Counts
    violations: Whole | None = None
    by_generator: ByGenerator | None = None
    latency_ms: Latencies = Latencies()
    all: Totals | None = None


class Failure(Record):
    """Requests that failed in the same way."""

    kind: str
    operation: str | None = None
    count: Whole
    example: str = ""
    """The beginning of one answer."""


class Connections(Record):
    """``connects``: attempts until the end, of which ``local`` failed for want of files, ports or memory."""

    requested: Whole = 0
    """To be made before the start, of which ``made`` were."""
    made: Whole = 0
    connects: Whole = 0
    failed: Whole = 0
    local: Whole = 0
    why: str = ""
    addresses: Items[str] = ()
    unreachable: Items[str] = ()
    """Addresses that accepted no connection before the start."""
    sources: Items[str] = ()


class Batch(Record):
    """One of the equal parts of the window; the backlog is that at its end."""

    start_s: float
    offered: Whole
    completed: Whole
    backlog: Whole


class Series(Record):
    """The mean latency of what was due in every step of the window; null where nothing was answered well."""

    step_s: float
    mean_ms: Items[float | None]


class Iterations(Record):
    """The iterations of all clients: how many, and their durations."""

    count: Whole
    total_s: float
    mean_s: float
    sd_s: float | None = None
    """None of a single one."""


class LoadWorker(Record):
    """What one of several generating hosts did in the window, how its clock stood, and how fast it was."""

    number: Whole
    name: str = ""
    address: str = ""
    """Instead of a name, in runs of release 0.1."""
    sent: Whole = 0
    completed: Whole | None = None
    p99_ms: float | None = None
    """The P99 of its own requests; None where too few of them were answered well, and in runs of earlier releases."""
    own_lateness_p99_ms: float | None = None
    connects: Whole | None = None
    cpu_s: float | None = None
    cpu_share: float | None = None
    clock_offset_us: float | None = None
    """What its clock is ahead; None where it was not measured."""
    clock_error_us: float | None = None
    """The offset is right to within that, either way."""
    reference_before_ms: float | None = None
    """The time of the reference loop before the run; ``reference_after_ms``: after it."""
    reference_after_ms: float | None = None


class Generator(Record):
    """What the generator itself used."""

    cpu_s: float | None = None
    wall_s: float | None = None
    cpu_us_per_request: float | None = None
    sending_us_per_request: float | None = None
    cpu_share: float | None = None
    """The share of the window in which the busiest load thread used a CPU or, if other threads work for its requests
    too (TLS, HTTP/2, gRPC, ZeroMQ) and that is more, the process all of its CPUs."""
    wait: str | None = None
    threads: Whole | None = None
    own_lateness_p99_ms: float | None = None
    """How late it sent although it could have sent."""
    own_lateness_slo_ms: float | None = None
    """The same at the SLO's percentile."""
    run_delay_s: float | None = None
    """That load threads could run and got no CPU, in the window."""
    run_delay_share: float | None = None
    script_starved: Whole | None = None
    """Requests that were due before the script had made them."""
    script_lost: Whole | None = None
    """Answers that the script's ``response()`` never saw."""
    requests_lost: Whole | None = None
    """Records that ``requests.parquet`` lacks."""
    throttled_s: float | None = None
    """That its own control group took the CPU away."""
    workers: Items[LoadWorker] = ()


class Aborted(Record):
    """When, in seconds from the start of the window, and why a trial was stopped early."""

    at_s: float
    reason: str


class LoadPlan(Record):
    """The plan that the generator followed, of which only this is read; the rest is kept as it was written."""

    model_config = ConfigDict(extra="allow")

    warmup_s: float = 0.0
    script: dict[str, object] | None = None


class TrialSummary(Record):
    """``summary.json``."""

    version: Literal[1] = Field(default=1, alias="schema")
    driver: str | None = None
    """The generator's name, where it is not ``stone load``."""
    remarks: Items[str] = ()
    """What a reader must know of its numbers."""
    started: str = ""
    """RFC 3339."""
    plan: LoadPlan = LoadPlan()
    loop: Literal["open", "closed"] = "open"
    planned: Whole | None = None
    """Requests of the window; 0 in a closed loop that ends by the time."""
    begins_s: float | None = None
    """When the window begins, from ``started``; None in files of earlier releases."""
    window_s: float
    counts: Counts
    violations: Whole | None = None
    """What did not complete within the SLO's latency, whatever the reason; None without an SLO."""
    by_generator: ByGenerator | None = None
    less_own: LessOwn | None = None
    completed_in_window: Whole | None = None
    offered_rate: float | None = None
    throughput: float
    latency_ms: Latencies
    spectrum: Items[Point]
    operations: Items[OperationSummary]
    errors: Items[Failure] = ()
    connections: Connections | None = None
    batches: Items[Batch] = ()
    series: Series | None = None
    slots_missed: Whole | None = None
    """Slots of a paced closed loop in the window that passed while their client waited for an answer."""
    iterations: Iterations | None = None
    """Iterations of a closed loop that ends by its number of requests."""
    generator: Generator
    aborted: Aborted | None = None

    @property
    def is_closed(self) -> bool:
        """Whether clients waited for answers before they sent again."""
        return self.loop == "closed"

    @property
    def is_counted(self) -> bool:
        """Whether it is a closed loop that was to end by its number of requests."""
        return self.is_closed and bool(self.planned)

    @property
    def began_s(self) -> float:
        """When the window began, in seconds from ``started``."""
        return self.plan.warmup_s if self.begins_s is None else self.begins_s

    @property
    def answered(self) -> bool:
        """Whether any request was answered well, so that there are latencies at all."""
        return self.counts.answered

    @property
    def caused(self) -> ByGenerator:
        """What the generator alone caused; nothing where that is not reported."""
        return self.by_generator or ByGenerator()

    @property
    def wanted(self) -> float:
        """Requests that the window was to have: scheduled, or what the rate comes to, or all that are counted."""
        if self.planned is not None or self.counts.offered is not None:
            return float(self.planned or self.counts.offered or 0)
        if self.offered_rate:
            return self.offered_rate * self.window_s
        return float(self.counts.completed + self.counts.lost)

    def observed(self) -> TrialSummary:
        """The summary as it is shown: with the latencies that were observed alone.

        A request without a good answer has no latency but a lower bound, which the verdict takes into account.
        Percentiles among such requests are None here, with ``bound`` beside them.
        """
        latencies = self.latency_ms.observed(self.counts)
        parts = (
            part.model_copy(update={"latency_ms": part.latency_ms.observed(part.counts)}) for part in self.operations
        )
        known: dict[str, object] = {"latency_ms": latencies, "operations": tuple(parts)}
        if not self.answered:
            known |= {"spectrum": (), "less_own": None}
        elif latencies != self.latency_ms and latencies.intended is not None:
            count, answers = latencies.intended.count, self.counts.answers
            known["spectrum"] = tuple(
                (q, None if is_bound(q, count, answers) else intended, service)
                for q, intended, service in self.spectrum
            )
            if self.less_own is not None:
                known["less_own"] = self.less_own.observed(answers + self.caused.neglected)
        return self.model_copy(update=known)

    def percentile_ms(self, percentile: float) -> float | None:
        """A percentile of the latency, from the spectrum (rounded up) where it has no field of its own; None if not
        reported."""
        latency = self.latency_ms.best or Latency(count=0)
        if percentile in _NAMED:
            named: float | None = getattr(latency, _NAMED[percentile])
            return named
        column = 1 if self.latency_ms.intended is not None else 2
        return next((point[column] for point in self.spectrum if point[0] >= percentile), latency.max)
