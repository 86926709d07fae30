"""The page's part of the steady state: how latency went over time, and which trials had not settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from loadstone.analysis import steady_state_table
from loadstone.analysis.latency import beside_breaking_point
from loadstone.analysis.schema import tables
from loadstone.analysis.steady_state_table import LatencyPart, SteadyRow
from loadstone.model.base import abridged
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import steady as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.section import Section

MOST_NAMED = 20
"""Trials that had not settled which the page names; all stand in the table."""

_KIND = Kind(
    "over_time",
    figure.over_time,
    "Latency over time {beside}",
    "The highest load that held and the lowest from there on that did not hold and ran to its end{which}. The mean "
    "is of requests by the time at which they were due, in hundredths of the window: the verdict is on it. P50 and P99 "
    "are of what was answered in each second. Shaded: the warm-up that MSER-5 found within the window.",
    "over_time",
    wide=True,
)


def gather(content: Content) -> Section | None:
    """None where no trial kept how its latency went."""
    rows = steady_state_table.steady(content.run)
    if not any(row.judged for row in rows):
        return None
    beside = [row for treatment in content.treatments for row in beside_breaking_point(treatment)]
    times, problems = steady_state_table.over_time(content.run, beside)
    unsettled = [row for row in rows if row.stationary is False]
    shown = {
        "treatments": [line for treatment in content.treatments if (line := _line(treatment.label, rows)) is not None],
        "unsettled": [(row, why(row)) for row in unsettled[:MOST_NAMED]],
        "more": max(0, len(unsettled) - MOST_NAMED),
        "overloaded": sum(row.verdict == "not held" for row in unsettled),
    }
    which = f", of the first {figure.MOST} such trials" if len(beside) > figure.MOST else ""
    return Section(
        name="steady",
        title="Steady state",
        explains=True,
        tables=tables((SteadyRow, rows), (LatencyPart, times)),
        kinds=(_KIND,),
        shown=shown,
        cautions=[*_cautions(unsettled, rows), *problems],
        facts={"which": which},
    )


def why(row: SteadyRow) -> str:
    """Sentences on a trial that had not settled."""
    if row.changes_s:
        places = " and ".join(f"{format.number(at)} s" for at in row.changes_s)
        return f"its level changes at {places}"
    drift = row.drift or 0.0
    return f"it {'rises' if drift > 0 else 'falls'} by {format.percent(abs(drift))} over the window"


@dataclass(frozen=True)
class _TreatmentRow:
    """A treatment's trials, counted; ``short`` were too short to decide, ``unjudged`` kept nothing to judge."""

    treatment: str
    steady: int
    unsettled: int
    short: int
    unjudged: int
    cut_s: float | None
    longest_cut_s: float | None


def _line(label: str, rows: Sequence[SteadyRow]) -> _TreatmentRow | None:
    """None where the treatment has no trial that ended."""
    mine = [row for row in rows if row.treatment == label]
    judged = [row for row in mine if row.judged]
    cuts = [row.cut_s or 0.0 for row in judged]
    if not mine:
        return None
    return _TreatmentRow(
        treatment=label,
        steady=sum(row.stationary is True for row in judged),
        unsettled=sum(row.stationary is False for row in judged),
        short=sum(row.stationary is None for row in judged),
        unjudged=len(mine) - len(judged),
        cut_s=median(cuts) if cuts else None,
        longest_cut_s=max(cuts, default=None),
    )


def _cautions(unsettled: Sequence[SteadyRow], rows: Sequence[SteadyRow]) -> list[str]:
    """Trials that held and had not settled: a longer one at the same load might have ended otherwise."""
    held = [row for row in unsettled if row.verdict != "not held"]
    if not held:
        return []
    judged = sum(row.judged and row.verdict != "not held" for row in rows)
    named = abridged([row.trial_id for row in held], 5)
    return [
        f"{len(held)} of {judged} trials that held or were measured had not reached a steady state ({named}): "
        "their latencies depend on how long they ran; see Steady state."
    ]
