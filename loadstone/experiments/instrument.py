"""Was the load generator what was measured? If so, a trial says nothing about the system under test.

The generator was the limit if
- its busiest thread used 95 % of a CPU or more (polling for nothing not counted), or its own control group took the
  CPU away from it within the window, or
- its machine lacked files, ports or memory for its connections, or
- it sent late although it could have sent: its *own* lateness, from the intended time or the moment a connection was
  free, whichever is later, exceeds the budget: what the study says, else 10 % of the strictest latency limit (without
  any limit, of the P99 that it measured) and at least 1 ms. It is compared at P99, or at the SLO's percentile where
  that is higher and at least ten requests lie beyond it, or
- a script that makes up its requests could not keep up: more than 0.5 % of them were due before they were made, or
- more than 0.5 % of the schedule was never sent although a connection was free: that load was not offered.

Beyond that, ``stone load`` counts each violation that its own delay alone explains where it happens
(``stone/load/own.go``). ``less_own`` is the summary without them: where that would hold and the summary itself does
not, the generator made the difference, and the trial is invalid (``verdict.py``). Nothing is inferred here: what waits
because no connection is free waits for the system. What another generator does not report is a doubt, which is shown
beside the result; it is never assumed to be well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from loadstone.model.slo import Slo

NEGLIGIBLE = 0.005
"""The share of requests that a script may make late, or that may be left unsent although a connection was free."""
SATURATED = 0.95
DESCHEDULED = 0.05
"""A load thread that waits for a CPU for more than this share of the window is worth a word."""
NOTABLE = 0.25
"""Of the violations that the SLO leaves room for: fewer than this share by the generator are not worth a word."""
ENOUGH = 10
"""Requests that must lie beyond a percentile for it to be compared: fewer are single events, which are counted."""
LATENESS_SHARE, LATENESS_LEAST_MS = 0.10, 1.0
"""A limit that is 10 % stricter moves the breaking point by 0.5 % (simulated with ``bench/queueing.py``): a tenth of
the default precision, so lateness within this budget cannot mislead a search."""

Summary = Mapping[str, Any]


def is_closed(summary: Summary) -> bool:
    """Whether clients waited for answers before they sent again."""
    return summary.get("loop") == "closed"


def latency(summary: Summary) -> Mapping[str, Any]:
    """What a trial's latency is: from the intended send time; from the actual one where there is no other."""
    of = summary["latency_ms"]
    found: Mapping[str, Any] = of["intended"] if of.get("intended") is not None else of["service"]
    return found


def lateness_budget_ms(slo: Slo | None, given_s: float | None = None, measured_ms: float | None = None) -> float:
    """How late the generator's own sends may be at the 99th percentile, in milliseconds."""
    if given_s is not None:
        return given_s * 1000
    strictest = min(slo.limits.values()) if slo is not None else measured_ms or 0.0
    return max(LATENESS_LEAST_MS, LATENESS_SHARE * strictest)


def faults(summary: Summary, slo: Slo | None, lateness_s: float | None = None) -> Iterator[str]:
    """Why the generator, and not the system, made the result; as sentences."""
    generator, counts = summary["generator"], summary["counts"]
    if counts["offered"] == 0:
        yield "no request was scheduled within the window: the load is too low for its duration"
        return
    if counts["offered"] is None and not any(counts[key] for key in ("completed", "errors", "timeouts")):
        yield f"{summary.get('driver', 'the load generator')} counted no request at all"
        return
    if (generator["cpu_share"] or 0.0) >= SATURATED:
        share = f"{generator['cpu_share']:.0%} of a CPU"
        yield f"the load generator was saturated: its busiest thread used {share}; give it more threads or CPUs"
    if throttled := generator.get("throttled_s") or 0.0:
        yield (
            "the load generator was throttled: its control group took the CPU away for "
            f"{throttled:.2g} s of the window; lift the quota of this session or container"
        )
    connections = summary.get("connections") or {}
    if lacking := connections.get("local"):
        yield (
            f"the load generator could not open {lacking} of its {connections['connects']} sockets: "
            f"{connections['why']}; raise its limit of open files, give source_addresses, or use more workers"
        )
    yield from _not_in_time(summary, slo, lateness_s)


def _not_in_time(summary: Summary, slo: Slo | None, lateness_s: float | None) -> Iterator[str]:
    offered, starved = summary["counts"]["offered"] or 0, summary["generator"].get("script_starved") or 0
    scripted = "script" in summary["plan"]
    if scripted and starved > NEGLIGIBLE * offered:
        behind = f"{starved} of {offered} requests were due before it had made them"
        yield f"the script could not keep up: {behind}; make it cheaper, or give it more threads"
    budget = lateness_budget_ms(slo, lateness_s, latency(summary)["p99"])
    percentile, lateness = _own_lateness(summary, slo)
    if lateness is not None and lateness > budget:
        late = f"P{percentile:g} {lateness:.2f} ms after it could have sent, budget {budget:.4g} ms"
        because = f"; {starved} requests of the script were due before they were made" if scripted and starved else ""
        yield f"the load generator sent late: {late}{because}{_descheduled(summary)}"
    neglected = summary.get("by_generator", {}).get("unsent", 0)
    if neglected > NEGLIGIBLE * offered:
        yield (
            f"the load generator never sent {neglected} of {offered} requests, {neglected / offered:.2%}, although a "
            f"connection was free: that load was not offered{_descheduled(summary)}"
        )


def _own_lateness(summary: Summary, slo: Slo | None) -> tuple[float, float | None]:
    """The percentile that is compared and its value in ms; None where it is not reported."""
    generator, percentile = summary["generator"], slo.strictest[0] if slo is not None else 0.0
    beyond = round((summary["counts"]["offered"] or 0) * (100 - percentile) / 100, 6)
    if percentile > 99 and beyond >= ENOUGH and generator.get("own_lateness_slo_ms") is not None:
        return percentile, float(generator["own_lateness_slo_ms"])
    return 99.0, generator.get("own_lateness_p99_ms")


def _descheduled(summary: Summary) -> str:
    share = summary["generator"].get("run_delay_share") or 0.0
    return f"; a load thread waited for a CPU for {share:.0%} of the window" if share > DESCHEDULED else ""


def less_own(summary: Summary) -> Summary:
    """The summary without what the generator alone caused; what it neglected to send counts as answered at once."""
    if summary.get("less_own") is None:
        return summary
    by, less, counts = summary["by_generator"], summary["less_own"], summary["counts"]
    done = counts["completed"] + by["late"] + by["unsent"]
    lost = {key: counts[key] - by[key] for key in ("late", "unsent")}
    backlogs = zip(summary["batches"], less["backlog"], strict=True)
    return {
        **summary,
        "counts": {**counts, "completed": done, **lost},
        "violations": summary["violations"] - by["violations"],
        "latency_ms": {**summary["latency_ms"], "intended": less["latency_ms"]},
        "spectrum": less["spectrum"],
        "batches": [{**batch, "backlog": backlog} for batch, backlog in backlogs],
    }


def difference(summary: Summary) -> str:
    """Why a trial that would hold without what the generator alone caused says nothing, as a sentence."""
    by, violations = summary["by_generator"], summary["violations"]
    caused = f"{by['violations']} of {violations} violations"
    unsent = f", {by['unsent']} of them never sent although a connection was free" if by["unsent"] else ""
    return (
        f"the load generator alone made the difference: it caused {caused} by sending late{unsent}; "
        f"without its own delays the SLO is held{_descheduled(summary)}"
    )


def answered(summary: Summary) -> bool:
    """Whether any request was answered well, so that there are latencies at all."""
    return bool(summary["counts"]["completed"] or summary["counts"].get("late"))


def doubts(summary: Summary, slo: Slo | None) -> Iterator[str]:
    """What does not make a trial invalid, but should stand beside its result."""
    generator, connections = summary["generator"], summary.get("connections") or {}
    if connections and connections["made"] < connections["asked"]:
        yield f"{connections['made']} of {connections['asked']} connections could be made before the load began"
    if unreachable := connections.get("unreachable"):
        yield f"not loaded, as no connection was accepted there: {', '.join(unreachable)}"
    caused = summary.get("by_generator", {}).get("violations", 0)
    if slo is not None and caused > NOTABLE * (1 - slo.strictest[0] / 100) * (summary["planned"] or 0):
        yield (
            f"the load generator alone caused {caused} of {summary['violations']} violations by sending late; "
            "the verdict is the same without them"
        )
    if (share := generator.get("run_delay_share") or 0.0) > DESCHEDULED:
        yield (
            f"a load thread could run but waited for a CPU for {share:.0%} of the window (all of them "
            f"{generator['run_delay_s']:.2g} s): other work competes for its CPU"
        )
    if starved := generator.get("script_starved") or 0:
        yield f"{starved} requests were due before they were made; their lateness is within the budget"
    if lost := generator.get("script_lost") or 0:
        yield f"{lost} answers were not shown to the script's response(): what it keeps count of is short by them"
    if unrecorded := generator.get("requests_lost") or 0:
        yield f"{unrecorded} requests are missing in requests.parquet: they came faster than they could be written"
    if (driver := summary.get("driver")) is not None:
        if missing := list(_not_told(summary)):
            yield f"not told by {driver}: {', '.join(missing)}"
        yield from summary.get("remarks", ())


def _not_told(summary: Summary) -> Iterator[str]:
    if not summary["offered_rate"]:  # clients of a closed loop have no schedule to keep
        return
    if summary["latency_ms"].get("intended") is None:
        yield "latency from the intended send time (it is judged by that from the actual one)"
    if summary["latency_ms"].get("lateness") is None:
        yield "how late it sent"
    if summary["counts"]["unsent"] is None:
        yield "how much it left unsent"
