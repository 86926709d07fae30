"""Did a trial hold its SLO, did it not, or does it say nothing about the system under test?

*Invalid* comes before *not held*: a trial whose instrument failed must not be counted against the system, however bad
it looks. It is invalid if the audit failed, a replica restarted or died, the generator crashed or was itself the limit.

The generator was the limit if
- its busiest thread used 95 % of a CPU or more (polling for nothing not counted), or
- it sent late although it could have sent: the 99th percentile of its *own* lateness, from the intended time or the
  moment a connection became free, whichever is later, exceeds 10 % of the strictest latency limit (at least 1 ms), or
- less than 99.5 % of the schedule was sent and nothing shows that the connections were busy.

A request that waits because all connections are busy waits for the system: that delay is part of its latency, and if
it is never sent, that is the system's failure. Connections were busy if the backlog (scheduled, not yet answered)
reached their number at the end of a batch. A generator that reports ``generator.own_lateness_p99_ms`` is believed; of
one that does not, lateness from the intended time is its own only if the connections were not busy.

An early abort decides: the SLO's share of violations was exceeded whatever would have come, so the trial did not hold;
percentiles and trends of its fragment are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from loadstone.experiments.probe import Held
from loadstone.model.slo import Slo

SENT = 0.995
SATURATED = 0.95
LATENESS_SHARE, LATENESS_LEAST_MS = 0.10, 1.0
"""A limit that is 10 % stricter moves the breaking point by 0.5 % (simulated with ``bench/queueing.py``): a tenth of
the default precision, so lateness within this budget cannot mislead a search."""
GROWTH = 0.01
"""A backlog that grows by more than this share of the offered rate is one that the system cannot work off."""
CONFIDENCE = 0.99
_REPORTED = {50.0: "p50", 75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
_LOST = {"errors": "errors", "timeouts": "timeouts", "late": "late", "unsent": "unsent", "in_flight": "in flight"}


@dataclass(frozen=True)
class Verdict:
    """What a trial says, with the reasons as sentences and what is doubtful as warnings."""

    verdict: Held
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def invalid(*reasons: str) -> Verdict:
    """The verdict on a trial that says nothing about the system."""
    return Verdict("invalid", reasons)


def judge(
    summary: Mapping[str, Any] | None, slo: Slo, audit: Sequence[str] = (), events: Sequence[str] = ()
) -> Verdict:
    """The verdict on one trial.

    ``summary`` is what ``stone load`` wrote, None if the generator crashed; ``audit`` and ``events`` are sentences:
    limits or placements that were not as wanted, replicas that restarted or died. Raises KeyError if the summary lacks
    a key.
    """
    broken = [*audit, *events]
    if summary is None:
        return invalid(*broken, "the load generator ended without a summary")
    broken += _generator_faults(summary, slo)
    if broken:
        return invalid(*broken)
    reasons = tuple(_aborted(summary) if summary["aborted"] else _broken_promises(summary, slo))
    return Verdict("not held" if reasons else "held", reasons, tuple(_warnings(summary)))


def lateness_budget_ms(slo: Slo) -> float:
    """How late the generator's own sends may be at the 99th percentile, in milliseconds."""
    return max(LATENESS_LEAST_MS, LATENESS_SHARE * min(slo.limits.values()))


def _generator_faults(summary: Mapping[str, Any], slo: Slo) -> Iterator[str]:
    generator, counts = summary["generator"], summary["counts"]
    if counts["offered"] == 0:
        yield "no request was scheduled within the window: the load is too low for its duration"
        return
    if generator["cpu_share"] >= SATURATED:
        share = f"{generator['cpu_share']:.0%} of a CPU"
        yield f"the load generator was saturated: its busiest thread used {share}; give it more threads or CPUs"
    busy = _connections_busy(summary)
    own = generator.get("own_lateness_p99_ms")
    lateness = own if own is not None else (0.0 if busy else summary["latency_ms"]["lateness"]["p99"])
    budget = lateness_budget_ms(slo)
    if lateness is not None and lateness > budget:
        yield f"the load generator sent late: P99 {lateness:.2f} ms after it could have sent, budget {budget:g} ms"
    sent = counts["sent"] / counts["offered"]
    if sent < SENT and not busy and not summary["aborted"]:
        yield f"the load generator sent {sent:.2%} of its schedule, less than {SENT:.1%}, with connections to spare"


def _connections_busy(summary: Mapping[str, Any]) -> bool:
    connections = summary["plan"].get("connections", math.inf)
    return any(batch["backlog"] >= connections for batch in summary["batches"])


def _aborted(summary: Mapping[str, Any]) -> Iterator[str]:
    aborted = summary["aborted"]
    yield f"stopped after {aborted['at_s']:.1f} s: {aborted['reason']}"


def _broken_promises(summary: Mapping[str, Any], slo: Slo) -> Iterator[str]:
    counts = summary["counts"]
    percentile, limit = slo.strictest
    share, allowed = summary["violations"] / summary["planned"], 1 - percentile / 100
    if share > allowed * (1 + 1e-9):
        yield (
            f"{share:.2%} of scheduled requests ({summary['violations']} of {summary['planned']}) "
            f"failed or took longer than {limit:g} ms; {allowed * 100:.4g} % are allowed"
        )
    for other, other_limit in sorted(slo.limits.items()):
        if other != percentile:
            measured = _percentile(summary, other)
            if measured > other_limit:
                yield f"P{other:g} is {measured:.1f} ms, above {other_limit:g} ms"
    completed = counts["completed"] / counts["offered"]
    if completed < slo.completed:
        lost = ", ".join(f"{counts[key]} {word}" for key, word in _LOST.items() if counts[key])
        yield f"{completed:.2%} of requests completed, less than {slo.completed * 100:.4g} % ({lost})"
    yield from _growing_backlog(summary)


def _percentile(summary: Mapping[str, Any], percentile: float) -> float:
    """A percentile of the intended latency; those without a key of their own come from the spectrum, rounded up."""
    intended = summary["latency_ms"]["intended"]
    if percentile in _REPORTED:
        return float(intended[_REPORTED[percentile]])
    return float(next((row[1] for row in summary["spectrum"] if row[0] >= percentile), intended["max"]))


def _growing_backlog(summary: Mapping[str, Any]) -> Iterator[str]:
    """The one-sided 99 % lower bound of the backlog's slope, against 1 % of the offered rate.

    Ordinary least squares over the ends of the batches. A backlog is a count: at rest it scatters like a Poisson
    number, so the residual variance is taken as at least its mean. Without this floor a single request that is in
    flight at the right moments would look like a trend at low rates.
    """
    batches = summary["batches"]
    if len(batches) < 3:
        return
    length = summary["window_s"] / len(batches)
    ends = np.array([batch["start_s"] + length for batch in batches])
    backlog = np.array([batch["backlog"] for batch in batches], dtype=float)
    centred = ends - ends.mean()
    scatter = float(np.sum(centred**2))
    slope = float(np.sum(centred * backlog)) / scatter
    residual = backlog - backlog.mean() - slope * centred
    freedom = len(batches) - 2
    variance = max(float(np.sum(residual**2)) / freedom, float(backlog.mean()))
    bound = slope - float(stats.t.ppf(CONFIDENCE, freedom)) * float(np.sqrt(variance / scatter))
    rate = summary["counts"]["offered"] / summary["window_s"]
    if bound > GROWTH * rate:
        yield (
            f"the backlog grows by {slope:.1f} requests/s (at least {bound:.1f} with {CONFIDENCE:.0%} confidence), "
            f"more than {GROWTH:.0%} of the {rate:.0f}/s offered"
        )


def _warnings(summary: Mapping[str, Any]) -> Iterator[str]:
    starved = summary["generator"].get("script_starved", 0)
    if starved:
        yield f"{starved} times a request was due before it was made up; its lateness is within the budget"
