"""Judges the claims of a study: by intervals of what a run measured, so that a claim may also be left open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Literal

from loadstone.analysis.published.matching import conditions
from loadstone.analysis.published.quantities import Ours, measured
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.claim import Claim
from loadstone.model.messages import brief
from loadstone.model.papers import Published

Answer = Literal["confirmed", "contradicted", "cannot tell"]


class ClaimRow(TableRow, name="claims"):
    """One claim of one treatment, beside another treatment or beside numbers (``other_low`` to ``other_high``)."""

    claim: str
    measure: str
    treatment: str
    value: float | None
    low: float | None
    high: float | None
    other: str | None
    other_value: float | None
    other_low: float | None
    other_high: float | None
    answer: Answer
    why: str
    """Of an answer that is left open."""


def judge(run: RunFolder, treatments: Sequence[TreatmentSummary], claims: Iterable[Claim]) -> list[ClaimRow]:
    """A row for each treatment that a claim is about, and each that it is compared with; none where neither ran."""
    settings = {treatment.id: conditions(run, treatment) for treatment in treatments}

    def having(levels: dict[str, Any]) -> list[TreatmentSummary]:
        wanted = {name: brief(level) for name, level in levels.items()}
        return [treatment for treatment in treatments if wanted.items() <= settings[treatment.id].items()]

    rows = []
    for claim in claims:
        others = claim.above if claim.above is not None else claim.below
        for treatment in having(claim.of):
            if others is None:
                rows.append(_beside_numbers(run, claim, treatment))
                continue
            varied = {*claim.of, *others}
            for other in having(others):
                if other is not treatment and _rest(treatment, varied) == _rest(other, varied):
                    rows.append(_beside(run, claim, treatment, other))
    return rows


def answer(rows: Sequence[ClaimRow]) -> Answer:
    """Of one claim: contradicted where any treatment does, confirmed where all do."""
    found = {row.answer for row in rows}
    if "contradicted" in found:
        return "contradicted"
    return "confirmed" if found == {"confirmed"} else "cannot tell"


def _rest(treatment: TreatmentSummary, without: set[str]) -> dict[str, str]:
    return {name: level for name, level in treatment.levels.items() if name not in without}


def _beside(run: RunFolder, claim: Claim, treatment: TreatmentSummary, other: TreatmentSummary) -> ClaimRow:
    ours, theirs = _of(run, claim, treatment), _of(run, claim, other)
    higher, lower = (ours, theirs) if claim.above is not None else (theirs, ours)
    found: Answer = "cannot tell"
    if higher.low is not None and lower.high is not None and higher.low > lower.high:
        found = "confirmed"
    elif higher.high is not None and lower.low is not None and higher.high < lower.low:
        found = "contradicted"
    return _row(claim, treatment, ours, found, other.label, theirs, ours.why or theirs.why)


def _beside_numbers(run: RunFolder, claim: Claim, treatment: TreatmentSummary) -> ClaimRow:
    ours = _of(run, claim, treatment)
    low, high = claim.between or (None, None)
    found: Answer = "cannot tell"
    if ours.low is not None and ours.high is not None:
        at_least, at_most = (-inf if low is None else low), (inf if high is None else high)
        if at_least <= ours.low and ours.high <= at_most:
            found = "confirmed"
        elif ours.high < at_least or ours.low > at_most:
            found = "contradicted"
    return _row(claim, treatment, ours, found, None, Ours(low=low, high=high), ours.why)


def _of(run: RunFolder, claim: Claim, treatment: TreatmentSummary) -> Ours:
    """What the treatment came to; ``low`` and ``high`` are None where there is a number without an interval."""
    entry = Published(
        source="",
        quantity=claim.text,
        unit="",
        measure=claim.measure,
        why="",
        at=claim.at,
        span=None,
        node_of=None,
        levels={},
        value=None,
        low=None,
        high=None,
    )
    return measured(run, treatment, entry, ())


def _row(
    claim: Claim, treatment: TreatmentSummary, ours: Ours, found: Answer, other: str | None, theirs: Ours, why: str
) -> ClaimRow:
    if found == "cannot tell" and not why:
        missing = ours.low is None or ours.high is None or (other and (theirs.low is None or theirs.high is None))
        why = "one trial has no interval: repeat" if missing else "the intervals overlap"
    return ClaimRow(
        claim=claim.text,
        measure=claim.measure,
        treatment=treatment.label,
        value=ours.value,
        low=ours.low,
        high=ours.high,
        other=other,
        other_value=theirs.value,
        other_low=theirs.low,
        other_high=theirs.high,
        answer=found,
        why="" if found != "cannot tell" else why,
    )
