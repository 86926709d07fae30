"""The page's part of the comparison: what is slower or faster than the baseline, by how much, how sure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loadstone.analysis import comparison as analysis
from loadstone.analysis.comparison import Compared, comparable, doubts
from loadstone.analysis.comparison.tables import EffectRow, NoiseRow
from loadstone.analysis.grouping import grouped
from loadstone.model.base import plural
from loadstone.report import comparison_sentences as sentences
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import comparison as figures
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

MOST_SPANS = 300
"""Trials, above which a report does not look into all traces; ``loadstone compare`` does."""

_KINDS = (
    Kind(
        "comparison_forest",
        figures.forest,
        "Change against the baseline",
        "Ratio of the geometric means over runs with its 95 % interval{which}. Grey: the baseline against itself (A/A) "
        "at the same endpoint, the noise floor. Dashed: the margin of equality. A filled triangle is a difference "
        "after correction for multiple tests, a filled square an equality, a hollow circle neither. At most 24 "
        "endpoints are drawn.",
        "comparison",
        wide=True,
    ),
    Kind(
        "comparison_capacities",
        figures.capacities,
        "Breaking points against the baseline's",
        "How many times as much load each treatment holds, with the 95 % interval of the ratio.",
        "comparison_capacities",
    ),
    Kind(
        "comparison_shifts",
        figures.shifts,
        "Where the latencies moved",
        "How much longer each percentile of all requests is than the baseline's, with the 95 % interval from run to "
        "run{which}. Grey: the baseline against itself.",
        "comparison_shifts",
    ),
    Kind(
        "calibration",
        figures.calibration,
        "Detected delays",
        "Delays of known size were injected. Above: the increase of the median, with its 95 % interval; on the line "
        "every request meets the delay once. Filled: detected. Below, as in the fifth study: the KS distance of all "
        "latencies from the baseline's; the line is the baseline's distance from itself.",
        "calibration",
    ),
)


@dataclass(frozen=True)
class _EndpointRow:
    """A row of a table of the page."""

    name: str
    statistic: str
    old: float
    new: float
    change: str
    sort: float
    interval: str
    p: str
    verdict: str
    kind: str
    load: str
    at: float
    detects: str
    least: float | None
    """The difference that ``detects`` shows; None where it is unknown."""


def gather(content: Content) -> Section | None:
    """None where a run has nothing to compare."""
    if not comparable(content.run):
        return None
    found = analysis.within(content.run, spans=len(content.run.trials) <= MOST_SPANS)
    if not (found.effects or found.noise or found.capacities):
        return None
    only = {treatment.label for treatment in content.treatments} - {found.baseline}
    tables = {_file(name): table for name, table in found.tables.items()}
    known = set(doubts.of_searches((treatment.label, treatment) for treatment in content.treatments))
    which = f", of the first {figures.MOST} comparisons" if figures.panels_of(found.effects) > figures.MOST else ""
    shown = {
        "baseline": found.baseline,
        "alone": not only,
        "paired": found.method == "paired",
        "margin": format.percent(found.margin),
        "groups": list(_groups(found)),
        "noise": [_line(row) for row in found.noise],
        "capacities": found.capacities,
        "shapes": found.shapes,
        "calibration": found.calibration,
    }
    return Section(
        name="comparison",
        title="Comparison",
        tables={name: table for name, table in tables.items() if table.num_rows},
        kinds=[kind for kind in _KINDS if tables[kind.table].num_rows],
        shown=shown,
        answers=_answers(content, found),
        cautions=[_sentence(text) for text in found.warnings if text not in known],
        facts={"which": which},
    )


def _answers(content: Content, found: Compared) -> list[str]:
    """For the top of the page: all where the study requests a comparison, else the first breaking points."""
    if content.run.plan.baseline is not None:
        return sentences.sentences(found)
    return [sentences.capacity(row) for row in found.capacities[:3]]


def _sentence(text: str) -> str:
    return f"Comparison: {text}."


def _file(table: str) -> str:
    return table if table in ("comparison", "calibration") else f"comparison_{table}"


@dataclass(frozen=True)
class _Group:
    """A treatment at one load."""

    title: str
    rows: list[_EndpointRow]


def _groups(found: Compared) -> Iterator[_Group]:
    for (treatment, _), rows in grouped(found.effects, lambda row: (row.treatment, row.load)).items():
        runs = plural(rows[0].runs, "pair" if found.method == "paired" else "run")
        yield _Group(f"{treatment} at {sentences.load(rows[0])}: {runs}", [_line(row) for row in rows])


def _line(row: EffectRow) -> _EndpointRow:
    least = row.detects if isinstance(row, NoiseRow) and row.detects < float("inf") else None
    return _EndpointRow(
        name=row.name,
        statistic=row.statistic.upper(),
        old=row.a_ms,
        new=row.b_ms,
        change=sentences.change(row.ratio),
        sort=row.ratio,
        interval=sentences.interval(row),
        p=sentences.p(row.p_adjusted),
        verdict=sentences.verdict(row),
        kind=row.verdict,
        load=sentences.load(row),
        at=row.load,
        detects=format.percent(least),
        least=least,
    )
