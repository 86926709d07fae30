"""Was the load generator what was measured? If so, a trial says nothing about the system under test.

The generator was the limit if
- its busiest thread used 95 % of a CPU or more (polling for nothing not counted), or its own control group took the
  CPU away from it within the window, or
- its machine lacked files, ports or memory for its connections, or
- it sent late although it could have sent: the 99th percentile of its *own* lateness, from the intended time or the
  moment a connection became free, whichever is later, exceeds the budget: what the study says, else 10 % of the
  strictest latency limit (without any limit, of the P99 that it measured) and at least 1 ms, or
- a script that makes up its requests could not keep up: more than 0.5 % of them were due before they were made, or
- less than 99.5 % of the schedule was sent and nothing shows that the connections were busy.

A request that waits because all connections are busy waits for the system: that delay is part of its latency, and if
it is never sent, that is the system's failure. Connections were busy if the backlog (scheduled, not yet answered)
reached their number at the end of a batch. A generator that reports ``generator.own_lateness_p99_ms`` is believed; of
one that does not, lateness from the intended time is its own only if the connections were not busy. What a generator
does not tell is a doubt, which is shown beside the result; it is never assumed to be well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from loadstone.model.slo import Slo

SENT = 0.995
SATURATED = 0.95
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
    counts, starved = summary["counts"], summary["generator"].get("script_starved") or 0
    scripted = "script" in summary["plan"]
    if scripted and starved > (1 - SENT) * (counts["offered"] or 0):
        behind = f"{starved} of {counts['offered']} requests were due before it had made them"
        yield f"the script could not keep up: {behind}; make it cheaper, or give it more threads"
    budget = lateness_budget_ms(slo, lateness_s, latency(summary)["p99"])
    lateness = _own_lateness(summary)
    if lateness is not None and lateness > budget:
        late = f"P99 {lateness:.2f} ms after it could have sent, budget {budget:.4g} ms"
        because = f"; {starved} times the script had not made the request yet" if scripted and starved else ""
        yield f"the load generator sent late: {late}{because}"
    # Another tool does not tell whether its connections were busy: what it left unsent counts against the system.
    if "driver" not in summary and not connections_busy(summary) and not summary["aborted"]:
        sent = (counts["sent"] + (counts.get("skipped") or 0)) / counts["offered"]
        if sent < SENT:
            yield f"the load generator sent {sent:.2%} of its schedule, less than {SENT:.1%}, with connections to spare"


def _own_lateness(summary: Summary) -> float | None:
    """P99 in ms; None where it is not told, or nothing was sent."""
    own: float | None = summary["generator"].get("own_lateness_p99_ms")
    if own is not None or connections_busy(summary):
        return own
    told = summary["latency_ms"].get("lateness")
    return told["p99"] if told is not None else None


def connections_busy(summary: Summary) -> bool:
    """Whether at some batch's end at least as many requests were open as there are connections."""
    connections = summary["plan"].get("connections", math.inf)
    return any(batch["backlog"] >= connections for batch in summary["batches"])


def doubts(summary: Summary) -> Iterator[str]:
    """What does not make a trial invalid, but should stand beside its result."""
    generator, connections = summary["generator"], summary.get("connections") or {}
    if connections and connections["made"] < connections["asked"]:
        yield f"{connections['made']} of {connections['asked']} connections could be made before the load began"
    if unreachable := connections.get("unreachable"):
        yield f"not loaded, as no connection was accepted there: {', '.join(unreachable)}"
    if starved := generator.get("script_starved") or 0:
        yield f"{starved} times a request was due before it was made up; its lateness is within the budget"
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
