"""The search for the breaking point: a pure decision, from the history alone, about what to try next.

Bracket: short trials until one load held and a higher one did not, no more than 1.5 times apart. The first is at the
start load; what CPU it took says where the next ones go, and without that they double or halve.
Fine: full trials beside the posterior median until the 95 % intervals are narrow: the breaking point's within the
precision, the capacity's within twice that, for it also needs the spread between equal trials.
Confirm: fresh trials, about 3, judged by what the posterior predicts of them (``analysis.confirmation``). They then
count like any other trial; if they contradict, the search goes on for a while, and the result says so.
Because nothing but the history is used, a killed search resumes by reading its ledger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.confirmation import FULL, Confirmation, Round, confirmation, rounds
from loadstone.analysis.posterior import SLOPE_MEDIAN, Posterior, posterior
from loadstone.analysis.trial_outcome import TrialOutcome
from loadstone.experiments import bracketing
from loadstone.experiments.bracketing import SearchFailed
from loadstone.experiments.next_trial import NextTrial, Outcome, invalid_in_a_row, readable
from loadstone.model.trial import Phase

__all__ = ["Search", "SearchFailed", "SearchResult", "expected_trials", "next_probe"]

MOST_INVALID = 5
"""In a row. Where stalls of a machine spoil one trial in six, three in a row would end one search in eight."""
FINE_LEAST, FINE_MOST = 5, 60
AFTER_CONTRADICTION = 3
"""Fine trials that follow, at least, when the confirmation contradicts."""
ROUNDS = 3
"""The most confirmations. Where the third contradicts as well, the system does not stay the same for a search."""
OFFSETS = (-2.0, 0.7, -0.7, 1.5)
"""Fine trials lie this many slopes beside the median, in turn. The near ones tell most of the location and find the way
back after one outlier; the far ones tell the spread between trials: one that looks smaller than it is ends a search too
early."""
CAPACITY_WIDER = 2.0
"""How much wider than the breaking point's the interval of the capacity may be."""
BEFORE_CONFIRMING = 1.2
"""The confirmation begins when the intervals are at most this much too wide: its trials narrow them, too."""
INFORMATION = 0.37
"""Fisher information of a fine trial about the breaking point, per squared slope: of a probit at ``OFFSETS``."""
CONFIRMING = 3
"""Trials that a confirmation is expected to take."""


@dataclass(frozen=True)
class Search:
    """Settings: loads in requests/s, ``precision`` relative (0.05 = +-5 %), durations in seconds."""

    start: float = 100.0
    lowest: float = 1.0
    highest: float = 100_000.0
    precision: float = 0.05
    fine_s: float = 30.0
    bracket_s: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.lowest <= self.start <= self.highest < math.inf:
            given = f"{self.lowest:g}, {self.start:g}, {self.highest:g}"
            raise ValueError(f"loads must satisfy 0 < lowest <= start <= highest, not {given}")
        if not 0.01 <= self.precision <= 0.5:
            raise ValueError(f"precision {self.precision:g} is not between 0.01 and 0.5")


@dataclass(frozen=True)
class SearchResult:
    """The search ended with a breaking point."""

    result: bp.BreakingPoint
    confirmed: bool


@dataclass(frozen=True)
class _Seen:
    """The valid outcomes of a history, of a search with this relative ``precision``."""

    precision: float
    short: list[TrialOutcome] = field(default_factory=list)
    full: list[TrialOutcome] = field(default_factory=list)
    """Fine and confirming trials."""
    fine: int = 0
    fine_since: int = 0
    """Fine trials after the last confirming one."""
    rounds: list[Round] = field(default_factory=list)
    hint: float | None = None
    """The hint of the last short trial that has a hint."""

    def judged(self) -> Confirmation | None:
        """The last confirmation; None where there was none."""
        return self.rounds[-1].judge(self.precision) if self.rounds else None


def next_probe(search: Search, history: Sequence[Outcome]) -> NextTrial | SearchResult | SearchFailed:
    """What to do after ``history``. Equal histories give equal answers, in any process."""
    if invalid_in_a_row(history) >= MOST_INVALID:
        where = f"the last at {history[-1].load:g}/s"
        reason = f"{MOST_INVALID} trials in a row were invalid, {where}: see the reasons in their verdicts"
        return SearchFailed(reason, by_invalid_trials=True)
    seen = _sort(search, history)
    bounds = search.lowest, search.highest
    step = bracketing.step(search.start, bounds, seen.short, seen.hint) or _refine(search, seen)
    if not isinstance(step, tuple):
        return step
    phase, wanted = step
    load = min(max(readable(wanted), search.lowest), search.highest)
    return NextTrial(load, phase, search.bracket_s if phase == "bracket" else search.fine_s)


def _sort(search: Search, history: Sequence[Outcome]) -> _Seen:
    for outcome in history:
        if outcome.phase not in ("bracket", *FULL):
            raise ValueError(f"a search has no trial of phase {outcome.phase!r}")
    valid = [outcome for outcome in history if outcome.verdict != "invalid"]
    trials = [(outcome.phase, outcome.evidence) for outcome in valid]
    full = [phase for phase, _ in trials if phase != "bracket"]
    return _Seen(
        search.precision,
        short=[trial for phase, trial in trials if phase == "bracket"],
        full=[trial for phase, trial in trials if phase != "bracket"],
        fine=full.count("fine"),
        fine_since=len(list(takewhile(lambda phase: phase == "fine", reversed(full)))),
        rounds=rounds(trials),
        hint=next((o.hint for o in reversed(valid) if o.phase == "bracket" and o.hint is not None), None),
    )


def _refine(search: Search, seen: _Seen) -> tuple[Phase, float] | SearchResult | SearchFailed:
    """The next fine or confirming trial, or the end."""
    judged = seen.judged()
    if judged is not None and judged.verdict is None:
        return "confirm", judged.load
    belief = posterior(seen.full, seen.short)
    if seen.fine >= FINE_LEAST and (failed := _out_of_range(search, bp.breaking_point(belief))):
        return failed
    unjudged = _unjudged(seen, judged)
    wide, least = _too_wide(search, belief), _least(seen, judged)
    enough = seen.fine >= least and wide <= (BEFORE_CONFIRMING if unjudged else 1)
    if seen.fine < FINE_MOST and not enough:
        offset = OFFSETS[seen.fine % len(OFFSETS)]
        return "fine", bp.breaking_point(belief).value * math.exp(offset * bp.slope_median(belief))
    if unjudged and seen.fine >= least and wide <= BEFORE_CONFIRMING:
        return "confirm", confirmation(belief, (), search.precision).load
    return _conclude(seen, judged)


def _unjudged(seen: _Seen, judged: Confirmation | None) -> bool:
    """Whether the estimate is still to be judged by fresh trials."""
    return judged is None or (judged.verdict == "contradicted" and len(seen.rounds) < ROUNDS)


def _least(seen: _Seen, judged: Confirmation | None) -> int:
    """Fine trials that are run however narrow the intervals are."""
    contradicted = judged is not None and judged.verdict == "contradicted"
    return seen.fine - seen.fine_since + AFTER_CONTRADICTION if contradicted else FINE_LEAST


def _too_wide(search: Search, belief: Posterior) -> float:
    """The width of the wider interval relative to what it may be."""
    point, capacity = bp.breaking_point(belief).precision, bp.capacity(belief).precision
    return max(point, capacity / CAPACITY_WIDER) / search.precision


def _out_of_range(search: Search, point: bp.Estimate) -> SearchFailed | None:
    if point.low > search.highest:
        reason = f"the breaking point lies above the highest load, {search.highest:g}/s"
        return SearchFailed(reason, at_least=search.highest)
    if point.high < search.lowest:
        reason = f"the breaking point lies below the lowest load, {search.lowest:g}/s"
        return SearchFailed(reason, at_most=search.lowest)
    return None


def _conclude(seen: _Seen, judged: Confirmation | None) -> SearchResult:
    confirmed = judged is not None and judged.verdict == "confirmed"
    return SearchResult(bp.estimate(seen.full, seen.short), confirmed)


def expected_trials(search: Search, history: Sequence[Outcome]) -> float:
    """How many more trials are to be expected, for a display of the time left; 0 when the search is over.

    A wide posterior halves with every trial. Once it is as narrow as the slope s, trials add up: each brings Fisher
    information 0.37 / s^2 (probit, at ``OFFSETS``), and the precision p needs (1.96 / p)^2 of it.
    """
    step = next_probe(search, history)
    if not isinstance(step, NextTrial):
        return 0.0
    seen = _sort(search, history)
    if step.phase == "bracket":
        short = max(1, (3 if seen.hint else 5) - len(seen.short))
        fine = _fine_trials(search, math.log(bracketing.CLOSE) / 2, SLOPE_MEDIAN)
        return short + min(fine, FINE_MOST) + CONFIRMING
    judged = seen.judged()
    if step.phase == "confirm":
        begun = len(seen.rounds[-1].fresh) if judged is not None and judged.verdict is None else 0
        return max(1, CONFIRMING - begun)
    belief = posterior(seen.full, seen.short)
    fine = _fine_trials(search, bp.breaking_point(belief).precision, bp.slope_median(belief))
    fine = min(max(fine, _least(seen, judged) - seen.fine, 1), FINE_MOST - seen.fine)
    return fine + (CONFIRMING if _unjudged(seen, judged) else 0)


def _fine_trials(search: Search, half: float, slope: float) -> float:
    narrow = max(2 * slope, search.precision)
    known = (1.96 / half) ** 2 if half < narrow else 0.0
    missing = max(0.0, (1.96 / search.precision) ** 2 - known)
    return max(0.0, math.log2(half / narrow)) + missing * slope**2 / INFORMATION
