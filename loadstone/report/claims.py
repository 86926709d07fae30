"""The page's part of the claims that a study makes: what the run says of each."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from pydantic import ValidationError

from loadstone.analysis import claims as analysis
from loadstone.analysis.claims import ClaimRow
from loadstone.analysis.schema import table
from loadstone.model.base import plural
from loadstone.model.claim import Claim
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.published import between
from loadstone.report.section import Section


def gather(content: Content) -> Section | None:
    """None where the study claims nothing."""
    claims = _claims(content)
    if not claims:
        return None
    spans = {}
    if any(claim.span is not None for claim in claims):
        fits = content.best_fits
        spans = analysis.of_spans(fits.fits, fits.percentiles, fits.chosen.levels, fits.chosen.ranges)
    rows = analysis.judge(content.run, content.treatments, claims, spans)
    each = {claim.text: [row for row in rows if row.claim == claim.text] for claim in claims}
    answers = {text: analysis.answer(mine) for text, mine in each.items()}
    counts = Counter(answers.values())
    found = ", ".join(f"{counts[answer]} {answer}" for answer in get_args(analysis.Answer) if counts[answer])
    return Section(
        name="claims",
        title="Claims",
        tables={"claims": table(ClaimRow, rows)},
        shown={
            "claims": [
                (text, answers[text], [(row, shown(row.value, row.low, row.high), _other(row)) for row in mine])
                for text, mine in each.items()
            ]
        },
        answers=[f"Of {plural(len(claims), 'claim')}: **{found}**."],
    )


def shown(value: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval, or the range that it lies in."""
    if value is None:
        return between(low, high) if low is not None or high is not None else format.NOTHING
    return format.number(value) + (f" {format.interval(low, high)}" if low is not None else "")


def _other(row: ClaimRow) -> str:
    return shown(row.other_value, row.other_low, row.other_high)


def _claims(content: Content) -> list[Claim]:
    given = content.run.study.document.get("claims") or []
    try:
        return [Claim.model_validate(claim) for claim in given]
    except ValidationError:  # of another release
        return []
