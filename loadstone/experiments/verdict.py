"""Did a trial hold its SLO, did it not, or does it say nothing about the system under test?

*Invalid* comes before *not held*: a trial whose instrument failed must not be counted against the system, however bad
it looks. It is invalid if the audit failed, a replica restarted or died, the generator crashed or was itself the limit
(``instrument.py``), or if it would hold without what the generator alone caused: the same rules are applied to the
summary and to the summary less the generator's own delays. A trial that was given no SLO is neither held nor not held:
it is *measured*, or invalid where nothing completed.

An early abort decides: the SLO's share of violations was exceeded whatever would have come (what the generator alone
caused does not count towards it), so the trial did not hold; percentiles and trends of its fragment are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from loadstone.experiments import instrument
from loadstone.experiments.instrument import lateness_budget_ms
from loadstone.experiments.probe import Held
from loadstone.model.slo import Slo

__all__ = ["Verdict", "invalid", "judge", "lateness_budget_ms"]

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
    summary: Mapping[str, Any] | None,
    slo: Slo | None,
    audit: Sequence[str] = (),
    events: Sequence[str] = (),
    lateness_s: float | None = None,
) -> Verdict:
    """The verdict on one trial.

    ``summary`` is what the driver wrote, None if the generator crashed; ``audit`` and ``events`` are sentences: limits
    or placements that were not as wanted, replicas that restarted or died; ``lateness_s`` is the study's own budget
    for the generator. Raises KeyError if the summary lacks a key.
    """
    broken = [*audit, *events]
    if summary is None:
        return invalid(*broken, "the load generator ended without a summary")
    broken += instrument.faults(summary, slo, lateness_s)
    if broken:
        return invalid(*broken)
    doubts = tuple(instrument.doubts(summary, slo))
    if slo is None:
        if not summary["counts"]["completed"]:
            return invalid(f"no request completed{_because(_lost(summary))}: there is nothing to measure")
        return Verdict("measured", (), doubts)
    if summary["aborted"]:
        return Verdict("not held", tuple(_aborted(summary)), doubts)
    reasons = tuple(_broken_promises(summary, slo))
    if reasons and not any(_broken_promises(instrument.less_own(summary), slo)):
        return invalid(instrument.difference(summary))
    return Verdict("not held" if reasons else "held", reasons, doubts)


def _aborted(summary: Mapping[str, Any]) -> Iterator[str]:
    aborted = summary["aborted"]
    yield f"broke at {aborted['at_s']:.1f} s: {aborted['reason']}"


def _broken_promises(summary: Mapping[str, Any], slo: Slo) -> Iterator[str]:
    percentile, limit = slo.strictest
    counted = summary["violations"] is not None
    if counted:
        share, allowed = summary["violations"] / _asked(summary), 1 - percentile / 100
        requests = "requests" if instrument.is_closed(summary) else "scheduled requests"
        if share > allowed * (1 + 1e-9):
            yield (
                f"{share:.2%} of {requests} ({summary['violations']} of {_asked(summary):.0f}) "
                f"failed or took longer than {limit:g} ms; {allowed * 100:.4g} % are allowed"
            )
    for other, other_limit in sorted(slo.limits.items()):
        if other != percentile or not counted:
            measured = _percentile(summary, other)
            if measured > other_limit:
                yield f"P{other:g} is {measured:.1f} ms, above {other_limit:g} ms"
    yield from _too_few(summary, slo)
    if not instrument.is_closed(summary):
        yield from _growing_backlog(summary)


def _asked(summary: Mapping[str, Any]) -> float:
    """Requests that the window was to have: scheduled, or what the rate that was asked for comes to, or sent."""
    counts = summary["counts"]
    if summary["planned"] is not None or counts["offered"] is not None:
        return float(summary["planned"] or counts["offered"])
    if summary["offered_rate"]:
        return float(summary["offered_rate"] * summary["window_s"])
    return float(counts["completed"] + sum(counts[key] or 0 for key in _LOST))


def _too_few(summary: Mapping[str, Any], slo: Slo) -> Iterator[str]:
    counts = summary["counts"]
    completed = counts["completed"] / (counts["offered"] or _asked(summary))
    if completed >= slo.completed:
        return
    yield f"{completed:.2%} of requests completed, less than {slo.completed * 100:.4g} %{_because(_lost(summary))}"


def _because(lost: list[str]) -> str:
    return f" ({', '.join(lost)})" if lost else ""


def _lost(summary: Mapping[str, Any]) -> list[str]:
    """What became of the requests that did not complete."""
    counts = summary["counts"]
    lost = [f"{counts[key]} {word}" for key, word in _LOST.items() if counts[key]]
    if skipped := counts.get("skipped"):
        lost.append(f"{skipped} of the errors are steps that were not sent, as an earlier one had failed")
    if counts["offered"] is None and summary["offered_rate"]:
        who, sent = summary.get("driver", "the driver"), counts["sent"]
        others = "does not tell whether it sent the others" if sent is None else f"sent {sent} of {_asked(summary):.0f}"
        lost.append(f"{who} {others}")
    return lost


def _percentile(summary: Mapping[str, Any], percentile: float) -> float:
    """A percentile of the latency; those without a key of their own come from the spectrum, rounded up."""
    told = instrument.latency(summary)
    if percentile in _REPORTED:
        return float(told[_REPORTED[percentile]])
    column = 1 if summary["latency_ms"].get("intended") is not None else 2
    return float(next((row[column] for row in summary["spectrum"] if row[0] >= percentile), told["max"]))


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
    bound = slope - float(stdtrit(freedom, CONFIDENCE)) * float(np.sqrt(variance / scatter))
    rate = _asked(summary) / summary["window_s"]
    if bound > GROWTH * rate:
        yield (
            f"the backlog grows by {slope:.1f} requests/s (at least {bound:.1f} with {CONFIDENCE:.0%} confidence), "
            f"more than {GROWTH:.0%} of the {rate:.0f}/s offered"
        )
