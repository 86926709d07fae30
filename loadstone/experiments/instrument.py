"""Was the load generator what was measured? If so, a trial says nothing about the system under test.

The generator was the limit if
- its busiest thread used 95 % of a CPU or more (polling for nothing not counted) or, where others of its threads work
  for its requests, all of them as much of its CPUs, or its own control group took the CPU away from it within the
  window, or
- its machine lacked files, ports or memory for its connections, or
- it sent late although it could have sent: its *own* lateness, from the intended time or the moment a connection was
  free, whichever is later, exceeds the budget: what the study says, else 10 % of the strictest latency limit (without
  any limit, of the P99 that was observed) and at least 1 ms. It is compared at P99, or at the SLO's percentile where
  that is higher and at least ten requests lie beyond it, and only if something completed, or
- a script that makes up its requests could not keep up: more than 0.5 % of them were due before they were made, or
- more than 0.5 % of the schedule was never sent although a connection was free: that load was not offered.

Beyond that, ``stone load`` counts each violation that its own delay alone explains where it happens
(``stone/load/own.go``). ``less_own`` is the summary without them: where that would hold and the summary itself does
not, the generator made the difference, and the trial is invalid (``verdict.py``). Nothing is inferred here: what waits
because no connection is free waits for the system. What another generator does not report is a doubt, which is shown
beside the result; it is never assumed to be well.
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.model.records.summary import Connections, TrialSummary
from loadstone.model.slo import Slo

NEGLIGIBLE = 0.005
"""The share of requests that a script may make late, or that may be left unsent although a connection was free."""
SATURATED = 0.95
DESCHEDULED = 0.05
"""A load thread that waits for a CPU for more than this share of the window is worth a word."""
NOTABLE = 0.25
"""The share of the violations that the SLO leaves room for; what the generator caused is not worth a word below it."""
ENOUGH = 10
"""Requests that must lie beyond a percentile for it to be compared: fewer are single events, which are counted."""
LATENESS_SHARE, LATENESS_LEAST_MS = 0.10, 1.0
"""A limit that is 10 % stricter moves the breaking point by 0.5 % (simulated with ``bench/queueing.py``): a tenth of
the default precision, so lateness within this budget cannot mislead a search."""


def lateness_budget_ms(slo: Slo | None, given_s: float | None = None, measured_ms: float | None = None) -> float:
    """How late the generator's own sends may be at the 99th percentile, in milliseconds."""
    if given_s is not None:
        return given_s * 1000
    strictest = min(slo.limits.values()) if slo is not None else measured_ms or 0.0
    return max(LATENESS_LEAST_MS, LATENESS_SHARE * strictest)


def faults(summary: TrialSummary, slo: Slo | None, lateness_s: float | None = None) -> Iterator[str]:
    """Why the generator, and not the system, made the result; as sentences."""
    generator, counts = summary.generator, summary.counts
    if counts.offered == 0:
        yield "no request was scheduled within the window: the window is too short for this load"
        return
    if counts.offered is None and not (counts.completed or counts.errors or counts.timeouts):
        yield f"{summary.driver or 'the load generator'} counted no requests"
        return
    if summary.is_counted and (counts.offered or 0) < (summary.planned or 0):
        sent = f"{counts.offered or 0:,} of {summary.planned:,} requests"
        yield f"the clients had sent {sent} when trial.limit was over; raise it, or give fewer requests"
    yield from _unreported(summary, slo)
    if (used := generator.cpu_share or 0.0) >= SATURATED:
        yield f"the load generator was saturated: it used {used:.0%} of the CPU it had; give it more threads or CPUs"
    if throttled := generator.throttled_s or 0.0:
        yield (
            "the load generator was throttled: its control group took the CPU away for "
            f"{throttled:.2g} s of the window; lift the quota of this session or container"
        )
    connections = summary.connections
    if connections is not None and connections.local:
        yield (
            f"the load generator could not open {connections.local} of its {connections.connects} sockets: "
            f"{connections.why}; raise its limit of open files, give source_addresses, or use more workers"
        )
    yield from _not_in_time(summary, slo, lateness_s)


def _unreported(summary: TrialSummary, slo: Slo | None) -> Iterator[str]:
    """Percentiles that the SLO limits and another generator does not report: the trial cannot be judged by them."""
    if slo is None or summary.violations is not None or not summary.answered:
        return
    for percentile in sorted(slo.limits):
        if summary.percentile_ms(percentile) is None:
            yield f"{summary.driver or 'the load generator'} does not report P{percentile:g}, which the SLO limits"


def _not_in_time(summary: TrialSummary, slo: Slo | None, lateness_s: float | None) -> Iterator[str]:
    offered, starved = summary.counts.offered or 0, summary.generator.script_starved or 0
    scripted = summary.plan.script is not None
    if scripted and starved > NEGLIGIBLE * offered:
        behind = f"{starved} of {offered} requests were due before it had made them"
        yield f"the script could not keep up: {behind}; make it cheaper, or give it more threads"
    budget = lateness_budget_ms(slo, lateness_s, _observed_p99_ms(summary))
    percentile, lateness = _own_lateness(summary, slo)
    if lateness is not None and lateness > budget and summary.counts.completed:  # else there is no latency to mislead
        late = f"P{percentile:g} {lateness:.2f} ms after it could have sent, budget {budget:.4g} ms"
        because = f"; {starved} requests of the script were due before they were made" if scripted and starved else ""
        yield f"the load generator sent late: {late}{because}{_descheduled(summary)}"
    neglected = summary.caused.neglected
    if neglected > NEGLIGIBLE * offered:
        yield (
            f"the load generator never sent {neglected} of {offered} requests, {neglected / offered:.2%}, although a "
            f"connection was free: that load was not offered{_descheduled(summary)}"
        )


def _observed_p99_ms(summary: TrialSummary) -> float | None:
    """P99 of the latency; where requests without a good answer decide it, that of the service time of good answers."""
    seen = summary.observed()
    service = seen.latency_ms.service
    return seen.percentile_ms(99) or (service.statistic("p99") if service is not None else None)


def _own_lateness(summary: TrialSummary, slo: Slo | None) -> tuple[float, float | None]:
    """The percentile that is compared and its value in ms; None where it is not reported."""
    generator, percentile = summary.generator, slo.strictest[0] if slo is not None else 0.0
    beyond = round((summary.counts.offered or 0) * (100 - percentile) / 100, 6)
    if percentile > 99 and beyond >= ENOUGH and generator.own_lateness_slo_ms is not None:
        return percentile, generator.own_lateness_slo_ms
    return 99.0, generator.own_lateness_p99_ms


def _descheduled(summary: TrialSummary) -> str:
    share = summary.generator.run_delay_share or 0.0
    return f"; a load thread waited for a CPU for {share:.0%} of the window" if share > DESCHEDULED else ""


def less_own(summary: TrialSummary) -> TrialSummary:
    """The summary without what the generator alone caused; what it neglected to send counts as answered at once."""
    by, less, counts = summary.caused, summary.less_own, summary.counts
    if less is None or summary.violations is None:
        return summary
    late, unsent = (counts.late or 0) - by.late, (counts.unsent or 0) - by.unsent
    done = counts.completed + by.late + by.unsent
    backlogs = zip(summary.batches, less.backlog, strict=True)
    return summary.model_copy(
        update={
            "counts": counts.model_copy(update={"completed": done, "late": late, "unsent": unsent}),
            "violations": summary.violations - by.violations,
            "latency_ms": summary.latency_ms.model_copy(update={"intended": less.latency_ms}),
            "spectrum": tuple((percentile, ms, None) for percentile, ms in less.spectrum),
            "batches": tuple(batch.model_copy(update={"backlog": backlog}) for batch, backlog in backlogs),
        }
    )


def difference(summary: TrialSummary, reason: str) -> str:
    """Why a trial that would hold without what the generator alone caused says nothing, as a sentence.

    ``reason``: why it does not hold with that.
    """
    by = summary.caused
    unsent = f", {by.unsent} of them never sent" if by.unsent else ""
    caused = f": it caused {by.violations} of {summary.violations} violations by sending late{unsent}"
    return (
        f"the load generator alone made the difference{caused if by.violations else ''}; "
        f"without its own delays the SLO is held, with them it is not: {reason}{_descheduled(summary)}"
    )


def doubts(summary: TrialSummary, slo: Slo | None) -> Iterator[str]:
    """What does not make a trial invalid, but should stand beside its result."""
    generator, connections = summary.generator, summary.connections or Connections()
    if connections.made < connections.requested:
        yield f"only {connections.made} of {connections.requested} connections were open when the load began"
    if connections.unreachable:
        yield f"received no load, as they accepted no connection: {', '.join(connections.unreachable)}"
    caused = summary.caused.violations
    if slo is not None and caused > NOTABLE * (1 - slo.strictest[0] / 100) * (summary.planned or 0):
        judged = (
            f"{caused} of {summary.violations} violations by sending late; the verdict is the same without them"
            if summary.aborted is None  # else what was on its way at the stop counts as violations, too
            else f"{caused} violations by sending late; they did not count towards the stop"
        )
        yield f"the load generator alone caused {judged}"
    if missed := summary.slots_missed or 0:
        yield f"{missed:,} slots of the pace passed while their clients waited for answers; they were not made up for"
    if (share := generator.run_delay_share or 0.0) > DESCHEDULED:
        yield (
            f"a load thread could run but waited for a CPU for {share:.0%} of the window (all of them "
            f"{generator.run_delay_s or 0.0:.2g} s): other work competes for its CPU"
        )
    if starved := generator.script_starved or 0:
        yield f"{starved} requests were due before they were made; their lateness is within the budget"
    if lost := generator.script_lost or 0:
        yield f"{lost} answers were not passed to the script's response(): its own counters miss them"
    if unrecorded := generator.requests_lost or 0:
        yield f"{unrecorded} requests are missing in requests.parquet: they arrived faster than they could be written"
    if summary.driver is not None:
        if missing := list(_not_reported(summary)):
            yield f"not reported by {summary.driver}: {', '.join(missing)}"
        yield from summary.remarks


def _not_reported(summary: TrialSummary) -> Iterator[str]:
    if not summary.offered_rate:  # clients of a closed loop have no schedule to keep
        return
    if summary.latency_ms.intended is None:
        yield "latency from the intended send time (it is judged by that from the actual one)"
    if summary.latency_ms.lateness is None:
        yield "how late it sent"
    if summary.counts.unsent is None:
        yield "how much it left unsent"
