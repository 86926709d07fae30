"""A run on the terminal: the answer, what is doubtful, breaking points or rates, the last trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.analysis.comparison import comparable, within
from loadstone.analysis.latency import RateRow
from loadstone.analysis.summary import BreakingPointRow
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import comparison_sentences, format, sentences
from loadstone.report import content as contents
from loadstone.report.console import bold, titled
from loadstone.report.content import Content

LAST_TRIALS = 8
_MARK = {
    "held": ("● held", "green"),
    "not held": ("✕ not held", "yellow"),
    "measured": ("■ measured", "green"),
    "invalid": ("△ invalid", "dim"),
}


def render(run_folder: Path) -> RenderableType:
    """What ``loadstone status`` and ``loadstone report`` print. Raises InputError where there is no run."""
    content = contents.gather(run_folder)
    parts: list[RenderableType] = [bold(sentences.answer(content))]
    parts += [bold(text) for text in sentences.bounds_of_one(content)]
    parts += [bold(text) for text in _compared(content)]
    left_out = [treatment for treatment in content.treatments if treatment.id in content.left_out]
    parts += [bold(f"{treatment.label} {sentences.finding(content, treatment)}") for treatment in left_out]
    parts += [Text.assemble("! ", text, style="yellow") for text in sentences.warnings(content)]
    if content.rows(BreakingPointRow) and len(content.run.trials):
        parts.append(_breaking_points(content))
        parts += _confirmed(content.rows(BreakingPointRow)) if len(content.treatments) > 1 else []
    if content.rows(RateRow):
        parts.append(_rates(content))
    if len(content.run.trials):
        parts.append(_trials(content))
        parts += _reasons(content.run.trials[-LAST_TRIALS:])
    return Group(*parts)


def _compared(content: Content) -> list[str]:
    """The findings of the comparison, where the study requests one."""
    if content.run.plan.baseline is None or not comparable(content.run):
        return []
    return comparison_sentences.sentences(within(content.run, spans=False, distributions=False))


def _breaking_points(content: Content) -> Table:
    # Headings in two lines and narrow gaps leave room for the names of treatments in 80 columns.
    interval = "95 %\ninterval"
    columns = ("treatment", "capacity", interval, "breaking\npoint", interval, "trials")
    title = "Capacity (95 % of trials hold) and breaking point (half of them do), req/s"
    table = titled(title, *columns)
    table.padding = (0, 1, 0, 0)
    for row in content.rows(BreakingPointRow):
        name = row.treatment if row.search is None else f"  search {row.search}"
        trials = f"{row.full_trials} + {row.bracket_trials}"
        if row.breaking_point is None:
            bounds = {
                "above": f"> {format.number(row.low)}",
                "below": f"< {format.number(row.high)}",
                "bracketed": f"{format.number(row.low)} to {format.number(row.high)}",
            }
            table.add_row(Text(name), bounds.get(row.known, format.NOTHING), "", "", "", trials)
            continue
        capacity = format.number(row.capacity), format.interval(row.capacity_low, row.capacity_high)
        point = format.number(row.breaking_point), format.interval(row.breaking_point_low, row.breaking_point_high)
        table.add_row(Text(name), Text(capacity[0], "bold"), Text(capacity[1]), point[0], Text(point[1]), trials)
    return table


def _confirmed(rows: Sequence[BreakingPointRow]) -> list[Text]:
    """The treatments that fresh trials agreed with, and the error that these tested for: below the table, which has no
    room for it in 80 columns."""
    agreed = [row for row in rows if row.confirmed and row.search is None]
    if not agreed:
        return []
    names = ", ".join(row.treatment for row in agreed)
    return [Text(f"confirmed by fresh trials, not {format.percent(agreed[0].off_share)} off: {names}")]


def _rates(content: Content) -> Table:
    load = "clients" if content.closed else "offered"
    names = ("treatment", load, "held", "completed", "P50", "P99")
    title = "Closed loop, by number of clients (medians)" if content.closed else "At fixed rates (medians)"
    table = titled(title, *names)
    for row in content.rows(RateRow):
        judged = row.held + row.not_held
        table.add_row(
            Text(row.treatment),
            format.number(row.rate if row.clients is None else row.clients),
            f"{row.measured} measured" if row.measured else f"{row.held} of {judged}",
            format.number(row.throughput),
            format.latency(row.p50_ms, row.latency_bound_ms),
            format.latency(row.p99_ms, row.latency_bound_ms),
        )
    return table


def _trials(content: Content) -> Table:
    column, name, _ = content.percentile
    load, name = ("clients", f"{name}, closed loop") if content.closed else ("offered", name)
    columns = ("#", "treatment", "phase", load, name, "verdict")
    several = len(content.treatments) > 1
    shown = [column for column in columns if several or column != "treatment"]
    table = titled("Last trials", *shown, texts=("treatment", "phase", "verdict"))
    for row in content.run.trials[-LAST_TRIALS:]:
        cells: list[Text] = [Text(str(row.order))]
        cells += [Text(row.treatment)] if several else []
        latency = format.latency(getattr(row, column), row.latency_bound_ms)
        cells += [Text(row.phase), Text(format.number(row.load)), Text(latency)]
        cells += [Text(*_MARK[row.verdict])]
        table.add_row(*cells)
    return table


def _reasons(trials: Sequence[TrialRow]) -> list[Text]:
    """Why trials were not held or are invalid: below the table, whose column would be too narrow for sentences."""
    return [
        Text(f"trial {row.order} {row.verdict}: {'; '.join(reasons)}") for row in trials if (reasons := format.why(row))
    ]
