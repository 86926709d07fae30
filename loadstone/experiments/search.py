"""The search for the breaking point: a pure decision, from the history alone, about what to try next.

Bracket: short trials at the start load, doubled while they hold or halved while they do not, until both were seen;
then bisected once or twice, because a short trial is cheap and the fine ones need not start wide.
Fine: full trials at the posterior median +- 0.7 slope until the 95 % interval of the breaking point is within the
precision. Confirm: a trial at 0.95 of it, which should hold, and one at 1.05, which should not; if they contradict,
they count like any other trial, the search goes on for a while, and the result says so.
Because nothing but the history is used, a killed search resumes by reading its ledger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadstone.analysis import breaking_point as bp
from loadstone.experiments.probe import Outcome, Probe, invalid_in_a_row, readable
from loadstone.model.trial import Phase

MOST_INVALID = 5
"""In a row. Where stalls of a machine spoil one trial in six, three in a row would end one search in eight."""
FINE_LEAST, FINE_MOST = 5, 60
AFTER_CONTRADICTION = 3
"""Fine trials that follow, at least, when the confirmation contradicts."""
OFFSET = 0.7
"""Probes lie this many slopes beside the median, where a trial tells most of location and slope together."""
CLOSE = 1.5
"""The bracket ends when its upper load is at most this many times the lower."""
CONFIRM = (0.95, 1.05)


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
class Found:
    """The search ended with a breaking point; what is doubtful about it stands in ``result.warnings``."""

    result: bp.BreakingPoint
    confirmed: bool


@dataclass(frozen=True)
class Failed:
    """The search ended without one. A bound is what it learnt all the same, in requests/s."""

    reason: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class _Seen:
    """The valid outcomes of a history as (load, held)."""

    short: list[tuple[float, bool]] = field(default_factory=list)
    fine: list[tuple[float, bool]] = field(default_factory=list)
    confirm: list[tuple[float, bool]] = field(default_factory=list)
    before_confirm: int = 0
    """Fine trials that came before the confirmation."""

    @property
    def full(self) -> list[tuple[float, bool]]:
        return self.fine + self.confirm

    @property
    def contradicted(self) -> bool:
        """The lower confirming trial, which comes first, should have held, and the upper one not."""
        return any(held != (index == 0) for index, (_, held) in enumerate(self.confirm))


def next_probe(search: Search, history: Sequence[Outcome]) -> Probe | Found | Failed:
    """What to do after ``history``. Equal histories give equal answers, in any process."""
    if invalid_in_a_row(history) >= MOST_INVALID:
        where = f"the last at {history[-1].load:g}/s"
        return Failed(f"{MOST_INVALID} trials in a row were invalid, {where}: see the reasons in their verdicts")
    seen = _sort(history)
    step = _bracket(search, seen.short) or _refine(search, seen) or _conclude(search, seen)
    if not isinstance(step, tuple):
        return step
    phase, wanted = step
    load = min(max(readable(wanted), search.lowest), search.highest)
    return Probe(load, phase, search.bracket_s if phase == "bracket" else search.fine_s)


def _sort(history: Sequence[Outcome]) -> _Seen:
    seen = _Seen()
    rooms = {"bracket": seen.short, "fine": seen.fine, "confirm": seen.confirm}
    for outcome in history:
        if outcome.phase not in rooms:
            raise ValueError(f"a search has no trial of phase {outcome.phase!r}")
        if outcome.verdict == "invalid":
            continue
        rooms[outcome.phase].append((outcome.load, outcome.verdict == "held"))
        if not seen.confirm:
            seen = replace(seen, before_confirm=len(seen.fine))
    return seen


def _bracket(search: Search, short: bp.Trials) -> tuple[Phase, float] | Failed | None:
    """Doubles or halves until one load held and one did not, then bisects; None once they are close.

    An outermost load is tried twice.
    """
    loads = [load for load, _ in short]
    verdicts = {held for _, held in short}
    if not short:
        return "bracket", search.start
    if len(verdicts) == 2:
        held, broke = max(load for load, ok in short if ok), min(load for load, ok in short if not ok)
        return ("bracket", math.sqrt(held * broke)) if broke / held > CLOSE else None
    if verdicts == {True}:
        if loads.count(search.highest) < 2:
            return "bracket", 2 * max(loads)
        reason = f"even the highest load, {search.highest:g}/s, holds: raise it, or ask more of the SLO"
        return Failed(reason, at_least=search.highest)
    if loads.count(search.lowest) < 2:
        return "bracket", min(loads) / 2
    reason = f"even the lowest load, {search.lowest:g}/s, does not hold: the SLO is out of reach"
    return Failed(reason, at_most=search.lowest)


def _refine(search: Search, seen: _Seen) -> tuple[Phase, float] | Failed | None:
    """The next fine or confirming trial; None when there is no more to try."""
    if len(seen.confirm) == 1:
        return "confirm", _confirming_loads(seen)[1]
    belief = bp.posterior(seen.full, seen.short)
    point = bp.breaking_point(belief)
    if len(seen.fine) >= FINE_LEAST:
        if point.low > search.highest:
            reason = f"the breaking point lies above the highest load, {search.highest:g}/s"
            return Failed(reason, at_least=search.highest)
        if point.high < search.lowest:
            reason = f"the breaking point lies below the lowest load, {search.lowest:g}/s"
            return Failed(reason, at_most=search.lowest)
    least = seen.before_confirm + AFTER_CONTRADICTION if seen.contradicted else FINE_LEAST
    precise = point.precision <= search.precision
    if len(seen.fine) < FINE_MOST and not (precise and len(seen.fine) >= least):
        side = OFFSET if len(seen.fine) % 2 else -OFFSET
        return "fine", point.value * math.exp(side * bp.slope_median(belief))
    if precise and not seen.confirm:
        return "confirm", _confirming_loads(seen)[0]
    return None


def _confirming_loads(seen: _Seen) -> tuple[float, float]:
    point = bp.breaking_point(bp.posterior(seen.fine[: seen.before_confirm], seen.short))
    return CONFIRM[0] * point.value, CONFIRM[1] * point.value


def _conclude(search: Search, seen: _Seen) -> Found:
    result = bp.estimate(seen.full, seen.short)
    warnings = list(result.warnings)
    reached = result.breaking_point.precision
    if reached > search.precision:
        wide = f"the interval is +-{reached:.1%} wide, not +-{search.precision:.1%}"
        warnings.append(f"{wide}, after {len(seen.fine)} fine trials")
    if seen.contradicted:
        said = " and ".join(f"{load:g}/s {'held' if held else 'did not hold'}" for load, held in seen.confirm)
        warnings.append(
            f"the confirmation contradicted: {said}; {len(seen.fine) - seen.before_confirm} trials were added"
        )
    elif not seen.confirm:
        warnings.append("not confirmed, for want of precision")
    confirmed = bool(seen.confirm) and not seen.contradicted
    return Found(replace(result, warnings=tuple(warnings)), confirmed)


def expected_trials(search: Search, history: Sequence[Outcome]) -> float:
    """How many more trials are to be expected, for a display of the time left; 0 when the search is over.

    A wide posterior halves with every trial. Once it is as narrow as the slope s, trials add up: each brings Fisher
    information 0.53 / s^2 (probit, 0.7 slopes off the median), and the precision p asks for (1.96 / p)^2 of it.
    """
    step = next_probe(search, history)
    if not isinstance(step, Probe):
        return 0.0
    seen = _sort(history)
    if len(seen.confirm) == 1:
        return 1.0
    if step.phase == "bracket":
        return max(1, 5 - len(seen.short)) + _fine_trials(search, math.log(CLOSE) / 2, bp.PRIOR_SQUARE) + len(CONFIRM)
    belief = bp.posterior(seen.full, seen.short)
    fine = _fine_trials(search, bp.breaking_point(belief).precision, bp.mean_square_slope(belief))
    least = seen.before_confirm + AFTER_CONTRADICTION if seen.contradicted else FINE_LEAST
    fine = min(max(fine, least - len(seen.fine)), FINE_MOST - len(seen.fine))
    return fine + len(CONFIRM) - len(seen.confirm)


def _fine_trials(search: Search, half: float, square: float) -> float:
    narrow = max(2 * math.sqrt(square), search.precision)
    known = (1.96 / half) ** 2 if half < narrow else 0.0
    missing = max(0.0, (1.96 / search.precision) ** 2 - known)
    return max(0.0, math.log2(half / narrow)) + missing * square / 0.53
