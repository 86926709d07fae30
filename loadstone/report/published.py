"""The page's part of a reproduced study: the published numbers beside this run's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.analysis import published as laying
from loadstone.analysis.metrics import minutes
from loadstone.analysis.metrics.minutes import MinuteRow
from loadstone.analysis.published import PublishedRow
from loadstone.analysis.schema import table
from loadstone.model import papers
from loadstone.model.base import plural
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import published as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

MOST_ROWS = 40
"""In the page's table; all stand in the CSV."""

_KINDS = (
    Kind(
        "published-values",
        figure.values,
        "Published and measured here",
        "Grey: what was published, a value or the range that it lies in (an arrow where an end is open). Coloured: "
        "this run under the same settings, with its 95 % interval where it has one, or the range that it lies in.",
        "published",
        wide=True,
    ),
    Kind(
        "published-percentiles",
        figure.percentiles,
        "Published percentiles and those measured here",
        "Hollow markers are published, lines are this run's best-fit runs at the same percentiles.",
        "published",
        wide=True,
    ),
)


def gather(content: Content) -> Section | None:
    """None where the study reproduces no published one."""
    name = content.run.study.reproduces
    if not name:
        return None
    if name not in papers.names():
        text = f"this version of Loadstone has no published values of {name!r}, which this study reproduces"
        return Section("published", "Published values", shown={"paper": None, "name": name}, cautions=[text])
    paper = papers.paper(name)
    fits = content.best_fits.fits if paper.method == "best-fit-run" else []
    systems = minutes.system(content.rows(MinuteRow))
    rows = laying.beside(content.run, content.treatments, papers.values(name), fits, systems)
    here = [row for row in rows if not row.why]
    # A value has a row for each treatment with its settings, and counts once.
    values = {_value(row) for row in rows}
    absent = {_value(row): row.why for row in rows if _value(row) not in set(map(_value, here))}
    shown = {
        "paper": paper,
        "name": name,
        "rows": [_shown(row) for row in sorted(here, key=lambda row: row.source)[:MOST_ROWS]],
        "more": max(0, len(here) - MOST_ROWS),
        "absent": Counter(absent.values()).most_common(),
        "missing": len(absent),
    }
    return Section(
        name="published",
        title="Published values",
        tables={"published": table(PublishedRow, rows)},
        kinds=_KINDS,
        shown=shown,
        answers=[_answer(paper, here, len(values) - len(absent), len(values))],
    )


def _value(row: PublishedRow) -> tuple[str | None, ...]:
    """The levels that identify a published value in its paper."""
    return row.source, row.quantity, row.setting, row.at, row.span


def _answer(paper: papers.Paper, here: Sequence[PublishedRow], found: int, count: int) -> str:
    values = plural(count, "published value")
    if not here:
        return f"{paper.by}: none of the {values} was measured under its settings here."
    measured = "was measured under its settings" if found == 1 else "were measured under their settings"
    return f"{paper.by}: **{found}** of {values} {measured} here{within(here)}."


def within(here: Sequence[PublishedRow]) -> str:
    """The least and the most times that these come to of the published; a ratio that is open at an end is counted."""
    both = [(row.ratio_low, row.ratio_high) for row in here]
    ratios = [end for low, high in both if low is not None and high is not None for end in (low, high)]
    open_ = sum((low is None) != (high is None) for low, high in both)
    single = len(set(map(_value, here))) == 1
    found = ""
    if ratios:
        least, most = format.number(min(ratios)), format.number(max(ratios))
        found = f", at **{least}**{f' to **{most}**' if most != least else ''} times {'it' if single else 'them'}"
    return found + (f"; of {'it' if single else open_} only a bound is known" if open_ else "")


@dataclass(frozen=True)
class _PublishedRow:
    """A row of the page's table."""

    row: PublishedRow
    what: str
    theirs: str
    ours: str
    times: str


def _shown(row: PublishedRow) -> _PublishedRow:
    unit = f" {row.unit}" if row.unit else ""
    ours = between(row.low, row.high) if row.value is None else format.number(row.value)
    if row.value is not None and row.low is not None:
        ours += f" {format.interval(row.low, row.high)}"
    published = row.published
    theirs = between(row.published_low, row.published_high) if published is None else format.number(published)
    rate = row.at if row.measure != "iteration_s" else None
    at = f" at {rate} load" if rate == "highest" else f" at {rate} req/s" if rate else ""
    return _PublishedRow(row, row.quantity + at, theirs + unit, ours + unit, _times(row))


def _times(row: PublishedRow) -> str:
    """The ratio with its interval; where either is a range, from the least to the most that it may be."""
    low, high = row.ratio_low, row.ratio_high
    if row.ratio is not None:
        return format.number(row.ratio) + (f" {format.interval(low, high)}" if low != high else "")
    if low is None and high is None:
        return format.NOTHING
    if low is not None and high is not None:
        return f"{format.number(low)} to {format.number(high)}"
    return f"at least {format.number(low)}" if high is None else f"at most {format.number(high)}"


def between(low: float | None, high: float | None) -> str:
    """A range as text; an open end has no number."""
    if low is None:
        return f"below {format.number(high)}"
    return f"above {format.number(low)}" if high is None else f"{format.number(low)} to {format.number(high)}"
