"""The bracket of a search: short trials until one load held and a higher one, close to it, did not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from loadstone.analysis.posterior import Trials

CLOSE = 1.5
"""The bracket ends when its upper load is at most this many times the lower."""
BESIDE = 1.12
"""Trials lie this many times above and below a hint, to have it between them: a bracket of 1.25."""
NEAR = 1.4
"""The step beyond a load that a hint led to in vain: what is found there ends the bracket."""
HINTED = 4
"""Short trials that a hint may place; after these it has shown to be none, and loads double, halve or are bisected."""
LEAP = 10.0
"""The farthest that a hint leads at once: what CPU a hundredth of the load takes is a poor hint, and a load far beyond
the breaking point can damage what is measured."""


@dataclass(frozen=True)
class SearchFailed:
    """The search ended without a breaking point. A bound is what it learnt all the same, in requests/s."""

    reason: str
    at_least: float | None = None
    at_most: float | None = None
    by_invalid_trials: bool = False
    """Whether invalid trials ended the search, which then says nothing; that its range has no breaking point is an
    answer."""


def step(
    start: float, bounds: tuple[float, float], short: Trials, hint: float | None
) -> tuple[Literal["bracket"], float] | SearchFailed | None:
    """The load of the next short trial; None once the bracket is close.

    ``bounds`` are the lowest and the highest load allowed; ``hint`` is the load at which the last trial to tell
    expects the break, and moves nothing but the next load. An outermost load is tried twice.
    """
    if not short:
        return "bracket", start
    if len(short) > HINTED:
        hint = None
    loads = [trial.load for trial in short]
    held = max((trial.load for trial in short if trial.held), default=None)
    broke = min((trial.load for trial in short if not trial.held), default=None)
    lowest, highest = bounds
    if held is not None and broke is not None:
        return ("bracket", _between(held, broke, hint)) if broke / held > CLOSE else None
    if held is not None:
        if loads.count(highest) < 2:
            return "bracket", _above(held, hint)
        reason = f"even the highest load, {highest:g}/s, holds: raise load.capacity.highest, or tighten the SLO"
        return SearchFailed(reason, at_least=highest)
    assert broke is not None
    if loads.count(lowest) < 2:
        return "bracket", _below(broke, hint)
    reason = (
        f"even the lowest load, {lowest:g}/s, does not hold: requests fail (see the reasons of the trials), or the SLO"
        " is out of reach"
    )
    return SearchFailed(reason, at_most=lowest)


def _above(held: float, hint: float | None) -> float:
    if hint is None or hint * CLOSE < held:
        return 2 * held
    return held * min(max(BESIDE * hint / held, CLOSE), LEAP)


def _below(broke: float, hint: float | None) -> float:
    if hint is None or hint > broke * CLOSE:
        return broke / 2
    return broke / min(max(BESIDE * broke / hint, CLOSE), LEAP)


def _between(held: float, broke: float, hint: float | None) -> float:
    """Beside the hint, on the side where the bracket is still the wider; in the middle where none is near."""
    middle = math.sqrt(held * broke)
    if hint is None or not held < hint * CLOSE or not hint < broke * CLOSE:
        return middle
    if hint <= held:  # not far off, but refuted: the break is a little beyond what was tried
        wanted = held * NEAR
    elif hint >= broke:
        wanted = broke / NEAR
    else:
        wanted = hint / BESIDE if hint / held > broke / hint else hint * BESIDE
    return wanted if held * BESIDE < wanted < broke / BESIDE else middle
