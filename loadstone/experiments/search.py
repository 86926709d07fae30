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
from dataclasses import dataclass, field, replace

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.confirmation import Confirmation, confirmation, in_words
from loadstone.analysis.posterior import SLOPE_MEDIAN, Posterior, TrialOutcome, posterior
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
    """The search ended with a breaking point; what is doubtful about it stands in ``result.warnings``."""

    result: bp.BreakingPoint
    confirmed: bool


@dataclass(frozen=True)
class _Seen:
    """The valid outcomes of a history, of a search with this relative ``precision``."""

    precision: float
    short: list[TrialOutcome] = field(default_factory=list)
    fine: list[TrialOutcome] = field(default_factory=list)
    confirm: list[TrialOutcome] = field(default_factory=list)
    before_confirm: int = 0
    """Fine trials that came before the confirmation."""
    hint: float | None = None
    """The hint of the last short trial that has a hint."""

    @property
    def full(self) -> list[TrialOutcome]:
        return self.fine + self.confirm

    def confirmation(self) -> Confirmation:
        return confirmation(self.before(), self.confirm, self.precision)

    def before(self) -> Posterior:
        """What was believed before the confirmation."""
        return posterior(self.fine[: self.before_confirm], self.short)


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
    seen = _Seen(search.precision)
    rooms = {"bracket": seen.short, "fine": seen.fine, "confirm": seen.confirm}
    for outcome in history:
        if outcome.phase not in rooms:
            raise ValueError(f"a search has no trial of phase {outcome.phase!r}")
        if outcome.verdict == "invalid":
            continue
        rooms[outcome.phase].append(TrialOutcome(outcome.load, outcome.verdict == "held"))
        if not seen.confirm:
            seen = replace(seen, before_confirm=len(seen.fine))
        if outcome.phase == "bracket" and outcome.hint is not None:
            seen = replace(seen, hint=outcome.hint)
    return seen


def _refine(search: Search, seen: _Seen) -> tuple[Phase, float] | SearchResult | SearchFailed:
    """The next fine or confirming trial, or the end."""
    judged = seen.confirmation() if seen.confirm else None
    if judged is not None and judged.verdict is None:
        return "confirm", judged.load
    belief = posterior(seen.full, seen.short)
    if len(seen.fine) >= FINE_LEAST and (failed := _out_of_range(search, bp.breaking_point(belief))):
        return failed
    wide = _too_wide(search, belief)
    enough = len(seen.fine) >= _least(seen, judged) and wide <= (BEFORE_CONFIRMING if judged is None else 1)
    if len(seen.fine) < FINE_MOST and not enough:
        offset = OFFSETS[len(seen.fine) % len(OFFSETS)]
        return "fine", bp.breaking_point(belief).value * math.exp(offset * bp.slope_median(belief))
    if judged is None and wide <= BEFORE_CONFIRMING:
        return "confirm", confirmation(belief, (), search.precision).load
    return _conclude(search, seen, judged)


def _least(seen: _Seen, judged: Confirmation | None) -> int:
    """Fine trials that are run however narrow the intervals are."""
    contradicted = judged is not None and judged.verdict == "contradicted"
    return seen.before_confirm + AFTER_CONTRADICTION if contradicted else FINE_LEAST


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


def _conclude(search: Search, seen: _Seen, judged: Confirmation | None) -> SearchResult:
    result = bp.estimate(seen.full, seen.short)
    warnings = [*_imprecise(search, result, len(seen.fine)), *result.warnings]
    if judged is None:
        warnings.append("not confirmed: the required precision was not reached")
    elif judged.verdict != "confirmed":
        warnings.append(in_words(judged, seen.confirm))
    confirmed = judged is not None and judged.verdict == "confirmed"
    return SearchResult(replace(result, warnings=tuple(warnings)), confirmed)


def _imprecise(search: Search, result: bp.BreakingPoint, fine: int) -> list[str]:
    """The warning that the precision was not reached, with the spread between trials as its reason."""
    wanted, reached = search.precision, result.breaking_point.precision
    spread = f"equal trials differ by about {result.slope.value:.0%}"
    if reached > wanted:
        return [f"precision +-{wanted:.1%} not reached: after {fine} fine trials it is +-{reached:.1%}, as {spread}"]
    if (capacity := result.capacity.precision) > CAPACITY_WIDER * wanted:
        return [f"the interval of the capacity is +-{capacity:.1%} after {fine} fine trials, as {spread}"]
    return []


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
    if step.phase == "confirm":
        return max(1, CONFIRMING - len(seen.confirm))
    belief = posterior(seen.full, seen.short)
    fine = _fine_trials(search, bp.breaking_point(belief).precision, bp.slope_median(belief))
    least = _least(seen, seen.confirmation() if seen.confirm else None)
    fine = min(max(fine, least - len(seen.fine), 1), FINE_MOST - len(seen.fine))
    return fine + (0 if seen.confirm else CONFIRMING)


def _fine_trials(search: Search, half: float, slope: float) -> float:
    narrow = max(2 * slope, search.precision)
    known = (1.96 / half) ** 2 if half < narrow else 0.0
    missing = max(0.0, (1.96 / search.precision) ** 2 - known)
    return max(0.0, math.log2(half / narrow)) + missing * slope**2 / INFORMATION
