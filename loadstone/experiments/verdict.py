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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from loadstone.experiments import instrument
from loadstone.experiments.instrument import lateness_budget_ms
from loadstone.model.records.summary import TrialSummary
from loadstone.model.records.trial_row import TrialVerdict
from loadstone.model.slo import Slo

__all__ = ["Verdict", "invalid", "judge", "lateness_budget_ms"]

GROWTH = 0.01
"""A backlog that grows by more than this share of the offered rate is one that the system cannot work off."""
CONFIDENCE = 0.99


@dataclass(frozen=True)
class Verdict:
    """What a trial says, with the reasons as sentences and what is doubtful as warnings."""

    verdict: TrialVerdict
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def invalid(*reasons: str) -> Verdict:
    """The verdict on a trial that says nothing about the system."""
    return Verdict("invalid", reasons)


def judge(
    summary: TrialSummary | None,
    slo: Slo | None,
    audit: Sequence[str] = (),
    events: Sequence[str] = (),
    lateness_s: float | None = None,
) -> Verdict:
    """The verdict on one trial.

    ``summary`` is what the driver wrote, None if the generator crashed; ``audit`` and ``events`` are sentences: limits
    or placements that were not as wanted, replicas that restarted or died; ``lateness_s`` is the study's own budget
    for the generator.
    """
    broken = [*audit, *events]
    if summary is None:
        return invalid(*broken, "the load generator ended without a summary")
    broken += instrument.faults(summary, slo, lateness_s)
    if broken:
        return invalid(*broken)
    doubts = tuple(instrument.doubts(summary, slo))
    if slo is None:
        if not summary.counts.completed:
            return invalid(f"no request completed{_because(_lost(summary))}: there is nothing to measure")
        return Verdict("measured", (), doubts)
    if summary.aborted is not None:
        reason = f"broke at {summary.aborted.at_s:.1f} s: {summary.aborted.reason}"
        return Verdict("not held", (reason, *_failures(summary)), doubts)
    reasons = tuple(_broken_promises(summary, slo))
    if reasons and not any(_broken_promises(instrument.less_own(summary), slo)):
        return invalid(instrument.difference(summary, reasons[0]))
    return Verdict("not held" if reasons else "held", reasons, doubts)


def _broken_promises(summary: TrialSummary, slo: Slo) -> Iterator[str]:
    percentile, limit = slo.strictest
    if summary.violations is not None:
        share, allowed = summary.violations / summary.wanted, 1 - percentile / 100
        requests = "requests" if summary.is_closed else "scheduled requests"
        if share > allowed * (1 + 1e-9):
            yield (
                f"{share:.2%} of {requests} ({summary.violations} of {summary.wanted:.0f}) "
                f"failed or took longer than {limit:g} ms; {allowed * 100:.4g} % are allowed"
            )
    for other, other_limit in sorted(slo.limits.items()):
        if other != percentile or summary.violations is None:
            measured = summary.percentile_ms(other)
            if measured is not None and measured > other_limit:
                yield f"P{other:g} is {measured:.1f} ms, above {other_limit:g} ms"
    yield from _too_few(summary, slo)
    if not summary.is_closed:
        yield from _growing_backlog(summary)


def _too_few(summary: TrialSummary, slo: Slo) -> Iterator[str]:
    completed = summary.counts.completed / (summary.counts.offered or summary.wanted)
    if completed >= slo.completed:
        return
    yield f"{completed:.2%} of requests completed, less than {slo.completed * 100:.4g} %{_because(_lost(summary))}"


def _because(lost: list[str]) -> str:
    return f" ({', '.join(lost)})" if lost else ""


def _failures(summary: TrialSummary) -> Iterator[str]:
    """The most frequent kinds of failures, where they are a good part of the violations."""
    most = sorted(summary.errors, key=lambda each: -each.count)[:2]
    if kinds := [f"{each.count} x {each.kind}" for each in most if each.count >= (summary.violations or 0) / 4]:
        yield f"failed: {', '.join(kinds)}"


def _lost(summary: TrialSummary) -> list[str]:
    """What became of the requests that did not complete."""
    counts = summary.counts
    parts = [(counts.errors, "errors"), (counts.timeouts, "timeouts"), (counts.late, "late")]
    parts += [(counts.unsent, "unsent"), (counts.in_flight, "in flight")]
    lost = [f"{count} {name}" for count, name in parts if count]
    if counts.skipped:
        lost.append(f"{counts.skipped} of the errors are steps that were not sent because an earlier step had failed")
    if counts.offered is None and summary.offered_rate:
        sent = f"sent {counts.sent} of {summary.wanted:.0f}"
        others = "does not report whether it sent the others" if counts.sent is None else sent
        lost.append(f"{summary.driver or 'the driver'} {others}")
    return lost


def _growing_backlog(summary: TrialSummary) -> Iterator[str]:
    """The one-sided 99 % lower bound of the backlog's slope, against 1 % of the offered rate.

    Ordinary least squares over the ends of the batches. A backlog is a count: at rest it scatters like a Poisson
    number, so the residual variance is taken as at least its mean. Without this floor a single request that is in
    flight at the right moments would look like a trend at low rates.
    """
    batches = summary.batches
    if len(batches) < 3:
        return
    length = summary.window_s / len(batches)
    ends = np.array([batch.start_s + length for batch in batches])
    backlog = np.array([batch.backlog for batch in batches], dtype=float)
    centred = ends - ends.mean()
    scatter = float(np.sum(centred**2))
    slope = float(np.sum(centred * backlog)) / scatter
    residual = backlog - backlog.mean() - slope * centred
    freedom = len(batches) - 2
    variance = max(float(np.sum(residual**2)) / freedom, float(backlog.mean()))
    bound = slope - float(stdtrit(freedom, CONFIDENCE)) * float(np.sqrt(variance / scatter))
    rate = summary.wanted / summary.window_s
    if bound > GROWTH * rate:
        yield (
            f"the backlog grows by {slope:.1f} requests/s (at least {bound:.1f} with {CONFIDENCE:.0%} confidence), "
            f"more than {GROWTH:.0%} of the {rate:.0f}/s offered"
        )
