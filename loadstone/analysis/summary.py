"""What each treatment of a run came to: its breaking point where there was a search, else what held at its rates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.confirmation import FULL, Verdict, detectable, in_words, revised, rounds, together
from loadstone.analysis.episodes import Episode
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.trial_outcome import TrialOutcome
from loadstone.model.load import Capacity
from loadstone.model.records.run_files import PlannedTreatment, StudyFile
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.units import share

Known = Literal["estimated", "bracketed", "above", "below", "nothing"]


@dataclass(frozen=True)
class Searched:
    """What a search knows about the breaking point.

    ``estimated``: there is an estimate. ``bracketed``: only short trials so far, it lies from ``low`` to ``high``, the
    highest load that held and the lowest that did not, whichever of the two is the lower.
    ``above``: every trial held, it lies above ``low``. ``below``: none held, it lies below ``high``.
    ``nothing``: no valid trial. Loads in requests/s.
    """

    known: Known
    low: float | None
    high: float | None
    result: bp.BreakingPoint | None
    confirmation: Verdict | None
    """The verdict of fresh trials on the estimate; None until they are complete."""
    unconfirmed: str
    """Why the estimate is not confirmed; empty where it is."""
    revised: str
    """How fresh trials contradicted earlier estimates; empty where none did."""
    episodes: tuple[Episode, ...]
    """When the system was likely not in its usual state, which the estimate is of; trials by their ``order``."""
    influenced: frozenset[str]
    """The ids of trials to which the machine did something notable."""
    evidence: tuple[str, ...]
    """Trials that the estimate counts at full weight."""
    bracket: tuple[str, ...]
    """Short trials: they shape only where the estimate starts from."""
    repetition: int | None = None
    """Which of several searches of the treatment; None for all its trials together."""

    @property
    def confirmed(self) -> bool | None:
        """Whether the fresh trials agreed; None until they are complete, or where they are undecided."""
        return {"confirmed": True, "contradicted": False}.get(self.confirmation or "")

    def unusual(self, row: TrialRow) -> bool:
        """Whether the system was likely not in its usual state in this trial, or the machine was not."""
        apart = any(episode.first <= row.order <= episode.last for episode in self.episodes)
        return apart or row.trial_id in self.influenced


@dataclass(frozen=True)
class TreatmentSummary:
    """One treatment with all its trials."""

    id: str
    label: str
    levels: dict[str, str]
    trials: tuple[TrialRow, ...]
    """In the order they were run."""
    planned: int | None
    """Trials that the plan has for fixed loads; a search decides as it goes."""
    searched: Searched | None
    """All trials of the treatment's searches together; None for fixed rates."""
    searches: tuple[Searched, ...]
    """Each search alone, where there are several."""
    warnings: tuple[str, ...]
    precision: float | None = None
    """The requested precision of its search, relative."""
    application: str | None = None
    """Its name, where several may be in a run."""

    def count(self, verdict: str) -> int:
        """Trials with that verdict."""
        return sum(row.verdict == verdict for row in self.trials)

    @property
    def held_up_to(self) -> float | None:
        """The highest load below which, itself included, every valid trial held; None where there is none."""
        broke = self.breaks_from
        held = [row.load for row in self.rows("held") if broke is None or row.load < broke]
        return max(held, default=None)

    @property
    def breaks_from(self) -> float | None:
        """The lowest load at which some trial did not hold."""
        return min((row.load for row in self.rows("not held")), default=None)

    @property
    def reference(self) -> float | None:
        """The load that others are given as a share of: the breaking point, else the highest held, else the lowest."""
        if self.searched is not None and self.searched.result is not None:
            return self.searched.result.breaking_point.value
        measured = max((row.load for row in self.rows("measured")), default=None)
        return self.held_up_to or measured or min((row.load for row in self.rows("not held")), default=None)

    @property
    def timed(self) -> bool:
        """Whether its trials measure, rather than show on processors of software that something works."""
        return all(row.timed for row in self.trials)

    def rows(self, verdict: str) -> list[TrialRow]:
        """The trials with that verdict, in the order they were run."""
        return [row for row in self.trials if row.verdict == verdict]

    @property
    def whole(self) -> list[TrialRow]:
        """The valid trials that ran to their end: one that was stopped early has no numbers of its window."""
        return [row for row in self.trials if row.valid and not row.stopped]


def treatments(run: RunFolder) -> list[TreatmentSummary]:
    """All treatments that were planned or run, in the plan's order."""
    planned = {treatment.id: treatment for treatment in run.plan.treatments}
    ids = dict.fromkeys([*planned, *(row.treatment_id for row in run.trials)])
    return [_treatment(run, treatment_id, planned.get(treatment_id)) for treatment_id in ids]


def _treatment(run: RunFolder, treatment_id: str, plan: PlannedTreatment | None) -> TreatmentSummary:
    rows = [row for row in run.trials if row.treatment_id == treatment_id]
    precision = _precision(run.study_of(treatment_id))
    label = rows[0].treatment if rows else (plan.label if plan is not None else "") or treatment_id
    searched: Searched | None = None
    searches: tuple[Searched, ...] = ()
    if run.searches or any(not row.repeatable for row in rows):
        searched, searches = _search(rows, precision), _each_search(rows, precision)
    doubts = [*_search_doubts(searched, precision), *_disagreement(searches)]
    warnings = doubts if rows else ["no trial yet"]
    return TreatmentSummary(
        id=treatment_id,
        label=label,
        levels=rows[0].factors if rows else {},
        trials=tuple(rows),
        planned=None if searched else _planned(run, treatment_id),
        searched=searched,
        searches=searches,
        warnings=tuple(warnings),
        precision=precision if searched else None,
        application=plan.application if plan is not None else None,
    )


def _planned(run: RunFolder, treatment_id: str) -> int | None:
    """Planned trials at fixed loads; by a rule that ends the repetitions, the fewest. The baseline of a comparison runs
    twice as often."""
    loads, repetitions = run.study_of(treatment_id).load.levels, run.study.trial.fewest
    if loads is None or repetitions is None:
        return None
    return len(loads) * repetitions * (2 if run.plan.baseline == treatment_id else 1)


def _precision(study: StudyFile) -> float:
    """The requested precision of a treatment's searches; the default where its study names none that can be read."""
    search = study.load.capacity
    default = float(Capacity.model_fields["precision"].default)
    try:
        return share(search.precision) if search is not None and search.precision is not None else default
    except ValueError:
        return default


def search_trials(rows: Sequence[TrialRow]) -> tuple[list[TrialOutcome], list[TrialOutcome]]:
    """The valid trials of a search: full ones, and the short ones of the bracket."""
    valid = [row for row in rows if row.valid]
    full = [_evidence(row) for row in valid if row.phase in FULL]
    return full, [_evidence(row) for row in valid if row.phase == "bracket"]


def _evidence(row: TrialRow) -> TrialOutcome:
    return TrialOutcome(row.rate, row.verdict == "held", row.reference_during_ms, row.steal_share)


def _each_search(rows: Sequence[TrialRow], precision: float) -> tuple[Searched, ...]:
    repetitions = sorted({row.repetition for row in rows})
    if len(repetitions) < 2:
        return ()
    return tuple(replace(_search([r for r in rows if r.repetition == n], precision), repetition=n) for n in repetitions)


def _search(rows: Sequence[TrialRow], precision: float) -> Searched:
    full, short = search_trials(rows)
    held = [trial.load for trial in (*full, *short) if trial.held]
    broke = [trial.load for trial in (*full, *short) if not trial.held]
    known: Known
    if not held and not broke:
        known = "nothing"
    elif not broke:
        known = "above"
    elif not held:
        known = "below"
    else:
        known = "estimated" if full else "bracketed"
    valid = [row for row in rows if row.valid]
    confirmed, unconfirmed, revisions = _confirmation(valid, precision)
    result = bp.estimate(full, short) if known == "estimated" else None
    counted = [row for row in valid if row.phase in FULL]
    low, high = max(held, default=None), min(broke, default=None)
    if low is not None and high is not None and low > high:
        low, high = high, low
    return Searched(
        known=known,
        low=low,
        high=high,
        result=result,
        confirmation=confirmed,
        unconfirmed=unconfirmed,
        revised=revisions,
        episodes=tuple(
            replace(episode, first=counted[episode.first].order, last=counted[episode.last].order)
            for episode in (result.episodes if result is not None else ())
        ),
        influenced=frozenset(
            row.trial_id
            for row, influence in zip(counted, result.influences if result is not None else (), strict=False)
            if influence.notable
        ),
        evidence=tuple(row.trial_id for row in counted),
        bracket=tuple(row.trial_id for row in valid if row.phase == "bracket"),
    )


def _confirmation(valid: Sequence[TrialRow], precision: float) -> tuple[Verdict | None, str, str]:
    """The worst verdict on the searches, why one with it is not confirmed, and how earlier estimates were revised."""
    judged = [_of_search(valid, n, precision) for n in sorted({row.repetition for row in valid})]
    verdict = together([each for each, _, _ in judged])
    revisions = next((text for _, _, text in judged if text), "")
    if verdict is None:
        some = "not all" if any(row.phase == "confirm" for row in valid) else "none"
        return None, f"not confirmed: of the fresh trials at and above the capacity {some} were run", revisions
    return verdict, next(reason for each, reason, _ in judged if each == verdict), revisions


def _of_search(valid: Sequence[TrialRow], repetition: int, precision: float) -> tuple[Verdict | None, str, str]:
    """A search's last fresh trials are judged by the posterior of its earlier trials."""
    found = rounds((row.phase, _evidence(row)) for row in valid if row.repetition == repetition)
    if not (found and (found[-1].full or found[-1].short)):
        return None, "", ""
    judged = found[-1].judge(precision)
    return judged.verdict, in_words(judged, found[-1].fresh), revised(found)


def _disagreement(searches: tuple[Searched, ...]) -> Iterator[str]:
    found = [search.result.breaking_point for search in searches if search.result is not None]
    if found and max(estimate.low for estimate in found) > min(estimate.high for estimate in found):
        yield f"the {len(found)} searches disagree: their 95 % intervals have no load in common"


def _search_doubts(searched: Searched | None, precision: float) -> Iterator[str]:
    if searched is None or searched.result is None:
        return
    error = searched.result.breaking_point.precision
    if error > precision:
        trials = len(searched.evidence)
        yield f"the interval is within {error:.1%}, not {precision:.1%}, after {trials} full trials"
    if searched.unconfirmed:
        yield searched.unconfirmed
    if searched.revised:
        yield searched.revised
    for episode in searched.episodes:
        likely = "over 99 %" if episode.probability > 0.99 else f"{100 * episode.probability:.0f} %"
        yield f"{episode_in_words(episode)} (probability {likely}): capacity and breaking point are of its usual state"
    yield from searched.result.warnings


def episode_in_words(episode: Episode) -> str:
    """``in trials 30 to 41 the system sustained about 25 % less than usual``."""
    trials = f"trials {episode.first} to {episode.last}" if episode.last > episode.first else f"trial {episode.first}"
    change = f"{100 * abs(episode.factor - 1):.0f} % {'less' if episode.factor < 1 else 'more'}"
    return f"in {trials} the system sustained about {change} than usual"


@dataclass(frozen=True)
class TrialWarning:
    """A warning of trials; those that differ in their numbers only are one."""

    text: str
    """The text in the first trial that has it."""
    trials: int
    same: bool
    """Whether all of them have the same numbers in it."""


def trial_warnings(trials: Iterable[TrialRow]) -> list[TrialWarning]:
    """The trials' own warnings, each kind once."""
    kinds: dict[str, Counter[str]] = {}
    for text in (text for row in trials for text in row.warnings):
        kinds.setdefault(re.sub(r"\d[\d.,]*", "0", text), Counter())[text] += 1
    return [TrialWarning(next(iter(texts)), texts.total(), len(texts) == 1) for texts in kinds.values()]


class BreakingPointRow(TableRow, name="breaking_points"):
    """What a search knows, with 95 % intervals; ``search`` numbers those of a treatment with several. Requests/s."""

    treatment: str
    search: int | None
    known: str
    low: float | None = None
    high: float | None = None
    capacity: float | None = None
    capacity_low: float | None = None
    capacity_high: float | None = None
    breaking_point: float | None = None
    breaking_point_low: float | None = None
    breaking_point_high: float | None = None
    slope: float | None = None
    slope_low: float | None = None
    slope_high: float | None = None
    full_trials: int
    bracket_trials: int
    confirmed: bool | None
    off_share: float | None = None
    """The error that fresh trials tested for: where ``confirmed``, capacity and breaking point are not off by it."""
    episodes: str = ""
    """Trials in which the system was likely not in its usual state, which the estimates are of, with what it sustained
    then relative to that: ``30-41: 0.75``."""
    speed_exponent: float | None = None
    """How the limit depends on the machine's speed, as timed during the trials: 0 not at all, 1 in proportion."""
    evidence: str
    """The ids of the trials that count at full weight."""


def breaking_points(found: list[TreatmentSummary]) -> list[BreakingPointRow]:
    """One row per treatment with a search; where it was searched several times, a row for each search follows."""
    return [
        _search_row(treatment, searched)
        for treatment in found
        if treatment.searched is not None
        for searched in (treatment.searched, *treatment.searches)
    ]


def _search_row(treatment: TreatmentSummary, searched: Searched) -> BreakingPointRow:
    values: dict[str, float | None] = {}
    if searched.result is None:  # with an estimate, overlapping trials would make the bounds confusing
        values |= {"low": searched.low, "high": searched.high}
    if result := searched.result:
        for name, estimate in (
            ("capacity", result.capacity),
            ("breaking_point", result.breaking_point),
            ("slope", result.slope),
        ):
            values |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return BreakingPointRow(
        treatment=treatment.label,
        search=searched.repetition,
        known=searched.known,
        full_trials=len(searched.evidence),
        bracket_trials=len(searched.bracket),
        confirmed=searched.confirmed,
        off_share=round(detectable(treatment.precision or 0.0), 6) if searched.confirmation is not None else None,
        speed_exponent=searched.result.follows if searched.result is not None else None,
        episodes=", ".join(f"{each.first}-{each.last}: {each.factor:.2g}" for each in searched.episodes),
        evidence=" ".join(searched.evidence),
        **values,
    )
