"""By how much a trial held its SLO, or broke it: a number that grows with the distance from the limit.

Of a trial that held: limit / latency - 1 at the SLO's percentile (of several limits the least). Near its limit a
queue's percentile grows as 1 / (limit - load), so this falls in a straight line to 0 at the breaking point. Of one that
broke: how many times as fast as allowed violations came, less 1, with its sign turned: the backlog of an overloaded
system grows as the load exceeds its capacity, and the time until answers are late shrinks so. What a margin is in load
is learnt from the trials (``analysis/posterior.py``).
"""

from __future__ import annotations

from loadstone.experiments.probe import Held
from loadstone.model.records import TrialSummary
from loadstone.model.slo import Slo

FARTHEST = 1000.0
"""Beyond this, a margin says nothing more."""


def margin(summary: TrialSummary, slo: Slo | None, verdict: Held, window_s: float) -> float | None:
    """The margin of a judged trial that was planned for ``window_s``; None where it was not judged by latency."""
    if slo is None or verdict not in ("held", "not held"):
        return None
    percentile, limit_ms = slo.strictest
    if summary.aborted is not None:
        return of_stopped(summary.aborted.at_s, limit_ms / 1000, window_s)
    if verdict == "held":
        measured = [(limit, summary.percentile_ms(at)) for at, limit in slo.limits.items()]
        ratios = [limit / max(latency, 1e-6) for limit, latency in measured if latency is not None]
        return of_held(min(ratios)) if ratios else None
    times = (summary.violations or 0) / summary.wanted / (1 - percentile / 100)
    return of_violations(times) if times > 1 else None


def of_held(ratio: float) -> float:
    """``ratio``: the limit over the latency, 1 or more."""
    return min(max(ratio - 1, 0.0), FARTHEST)


def of_stopped(at_s: float, limit_s: float, window_s: float) -> float:
    """Of a trial stopped ``at_s`` after its window began: the violation that decided was sent a limit earlier."""
    return of_violations(window_s / max(at_s - limit_s, window_s / FARTHEST))


def of_violations(times: float) -> float:
    """``times`` as many violations as are allowed."""
    return -min(max(times - 1, 0.0), FARTHEST)
