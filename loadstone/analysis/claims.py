"""Judges the claims of a study: by intervals of what a run measured, so that a claim may also be left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from loadstone.analysis.distribution_rows import LevelDistanceRow, RangeRow
from loadstone.analysis.published.matching import SOFTWARE, conditions
from loadstone.analysis.published.quantities import CLIENTS, Ours, measured
from loadstone.analysis.reproduction_rows import BestFitPercentileRow, BestFitRow
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.claim import Claim
from loadstone.model.messages import brief
from loadstone.model.papers import Published
from loadstone.model.records.bounds import RANKED

Answer = Literal["confirmed", "contradicted", "cannot tell", "not tested"]


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
    """The reason why an answer is left open."""


Spans = Mapping[tuple[str, str, str], Ours]
"""What is known of spans: by treatment's label, span and measure."""
_DISTANCES = {"anderson_darling": "ad", "kolmogorov_smirnov": "ks"}


def judge(
    run: RunFolder, treatments: Sequence[TreatmentSummary], claims: Iterable[Claim], spans: Spans = MappingProxyType({})
) -> list[ClaimRow]:
    """A row for each treatment that a claim is about, and each that it is compared with; where there are none, one that
    is not tested."""
    settings = {treatment.id: conditions(run, treatment) for treatment in treatments}

    def having(levels: dict[str, Any], timed: bool = True) -> list[TreatmentSummary]:
        wanted = {name: brief(level) for name, level in levels.items() if name != CLIENTS}
        return [each for each in treatments if each.timed == timed and wanted.items() <= settings[each.id].items()]

    def value(claim: Claim, treatment: TreatmentSummary, levels: dict[str, Any]) -> Ours:
        if claim.span is not None:
            missing = Ours(why=f"not in this run: span {claim.span}, with several runs")
            return spans.get((treatment.label, claim.span, claim.measure), missing)
        return measured(run, treatment, _entry(claim, levels), ())

    rows: list[ClaimRow] = []
    for claim in claims:
        found = len(rows)
        others = claim.above if claim.above is not None else claim.below
        for treatment in having(claim.of):
            ours = value(claim, treatment, claim.of)
            if others is None:
                rows.append(_beside_numbers(claim, treatment, ours))
                continue
            varied = {*claim.of, *others}
            for other in having(others):
                same = other is treatment and claim.of.get(CLIENTS) == others.get(CLIENTS)
                if not same and _rest(treatment, varied) == _rest(other, varied):
                    rows.append(_beside(claim, treatment, ours, other, value(claim, other, others)))
        if len(rows) == found:
            software = any(having(levels, timed=False) for levels in (claim.of, *([others] if others else [])))
            rows.append(_not_tested(claim, others, SOFTWARE if software else "no such treatment"))
    return rows


def of_spans(
    fits: Iterable[BestFitRow],
    percentiles: Sequence[BestFitPercentileRow],
    levels: Iterable[LevelDistanceRow],
    ranges: Iterable[RangeRow],
) -> dict[tuple[str, str, str], Ours]:
    """By treatment, span and measure: a percentile of the best-fit run, from the least to the greatest of all runs, in
    ms; of statistics the mean over pairs of a run and one of the baseline (of its own level: over pairs of its runs),
    from the least to the greatest; where no factor is a number, over pairs of a treatment's own runs."""
    found: dict[tuple[str, str, str], Ours] = {}
    for row in fits:
        mine = [each for each in percentiles if (each.treatment, each.span) == (row.treatment, row.span)]
        at = [each.percentile for each in mine]
        for measure, percent in RANKED.items():
            value: float | None = getattr(row, f"{'p100' if measure == 'max' else measure}_us", None)
            if value is None or not mine:
                continue
            low, high = (float(np.interp(percent, at, [getattr(m, end) for m in mine])) for end in _ENDS)
            found[row.treatment, row.span, measure] = Ours(
                value / 1000, min(low, value) / 1000, max(high, value) / 1000, row.runs
            )
    distances: list[RangeRow | LevelDistanceRow] = [*ranges, *levels]
    for pairs in distances:
        for measure, name in _DISTANCES.items():
            least, mean, most = (getattr(pairs, f"{name}_{end}") for end in ("min", "mean", "max"))
            found[pairs.treatment, pairs.span, measure] = Ours(mean, least, most, pairs.pairs)
    return found


_ENDS = ("lowest_us", "highest_us")


def answer(rows: Sequence[ClaimRow]) -> Answer:
    """The answer to one claim: contradicted where any treatment contradicts it, confirmed where all confirm it."""
    found = {row.answer for row in rows}
    if "contradicted" in found:
        return "contradicted"
    if found == {"not tested"}:
        return "not tested"
    return "confirmed" if found == {"confirmed"} else "cannot tell"


def _rest(treatment: TreatmentSummary, without: set[str]) -> dict[str, str]:
    return {name: level for name, level in treatment.levels.items() if name not in without}


def _beside(claim: Claim, treatment: TreatmentSummary, ours: Ours, other: TreatmentSummary, theirs: Ours) -> ClaimRow:
    higher, lower = (ours, theirs) if claim.above is not None else (theirs, ours)
    found: Answer = "cannot tell"
    if higher.low is not None and lower.high is not None and higher.low > lower.high:
        found = "confirmed"
    elif higher.high is not None and lower.low is not None and higher.high < lower.low:
        found = "contradicted"
    return _row(claim, treatment, ours, found, other, theirs, ours.why or theirs.why)


def _beside_numbers(claim: Claim, treatment: TreatmentSummary, ours: Ours) -> ClaimRow:
    low, high = claim.between or (None, None)
    found: Answer = "cannot tell"
    if ours.low is not None and ours.high is not None:
        at_least, at_most = (-inf if low is None else low), (inf if high is None else high)
        if at_least <= ours.low and ours.high <= at_most:
            found = "confirmed"
        elif ours.high < at_least or ours.low > at_most:
            found = "contradicted"
    return _row(claim, treatment, ours, found, None, Ours(low=low, high=high), ours.why)


def _not_tested(claim: Claim, others: dict[str, Any] | None, why: str) -> ClaimRow:
    low, high = claim.between or (None, None)
    return ClaimRow(
        claim=claim.text,
        measure=claim.measure,
        treatment=_given(claim.of),
        value=None,
        low=None,
        high=None,
        other=None if others is None else _given(others),
        other_value=None,
        other_low=low,
        other_high=high,
        answer="not tested",
        why=why,
    )


def _given(levels: dict[str, Any]) -> str:
    return ", ".join(f"{name}={brief(level)}" for name, level in levels.items()) or "any"


def _entry(claim: Claim, levels: dict[str, Any]) -> Published:
    """The claim's quantity as a published one, of these clients; its values are unknown."""
    return Published(
        source="",
        quantity=claim.text,
        unit="",
        measure=claim.measure,
        why="",
        at=claim.at,
        span=None,
        node_of=None,
        levels={name: brief(level) for name, level in levels.items() if name == CLIENTS},
        value=None,
        low=None,
        high=None,
    )


def _row(
    claim: Claim,
    treatment: TreatmentSummary,
    ours: Ours,
    found: Answer,
    other: TreatmentSummary | None,
    theirs: Ours,
    why: str,
) -> ClaimRow:
    if found == "cannot tell" and not why:
        missing = ours.low is None or ours.high is None or (other and (theirs.low is None or theirs.high is None))
        why = "one trial has no interval: repeat" if missing else "the intervals overlap"
    others = claim.above if claim.above is not None else claim.below
    return ClaimRow(
        claim=claim.text,
        measure=claim.measure,
        treatment=_named(treatment, claim.of),
        value=ours.value,
        low=ours.low,
        high=ours.high,
        other=None if other is None else _named(other, others or {}),
        other_value=theirs.value,
        other_low=theirs.low,
        other_high=theirs.high,
        answer=found,
        why="" if found != "cannot tell" else why,
    )


def _named(treatment: TreatmentSummary, levels: dict[str, Any]) -> str:
    """Its label, with the clients that are a load of it."""
    clients = brief(levels.get(CLIENTS, ""))
    return treatment.label + (f", {clients} client{'' if clients == '1' else 's'}" if clients else "")
