"""The history of a study: in sentences, on the terminal, and as one page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.analysis.history.changes import ChangePoint
from loadstone.analysis.history.rows import HistoryRow
from loadstone.analysis.history.series import RunSeries
from loadstone.report import format, rendering
from loadstone.report.console import titled
from loadstone.report.figures import history as figures
from loadstone.report.figures import style
from loadstone.report.inline import inline

LAST_RUNS = 20
_COMMIT = 12
_TIME, _SPACED = re.compile(r"(?<=[0-9])(ms|s)\b"), r" \1"


@dataclass(frozen=True)
class _Shown:
    """A series with what the page says of it."""

    series: RunSeries
    title: str
    changes: list[str]
    machines: list[str]
    rows: list[tuple[HistoryRow, str]]
    """Each run with its notes."""
    svg: Markup


def titles(found: Sequence[RunSeries]) -> list[str]:
    """``P99 of scaling=vertical at 150 req/s``; of several studies with the study's name before it."""
    several = len({series.study for series in found}) > 1
    return [f"{series.study}: {_title(series)}" if several else _title(series) for series in found]


def _title(series: RunSeries) -> str:
    """``P99 of scaling=vertical at 150 req/s``; ``Capacity of scaling=vertical, P99 ≤ 50 ms, 99 % completed``."""
    at = f" at {format.load_of(series.load, series.clients)}" if series.load is not None else ""
    slo = f", {_TIME.sub(_SPACED, series.slo.replace('<=', '≤'))}" if series.slo else ""
    name = figures.name(series)
    return f"{name[:1].upper()}{name[1:]} of {series.treatment}{at}{slo}"


def sentence(series: RunSeries, change: ChangePoint) -> str:
    """One change: its size with its interval, its probability, and what else was another in that run."""
    before, after = series.rows[change.at - 1], series.rows[change.at]
    low, high = (100 * (end - 1) for end in (change.low, change.high))
    size = f"{100 * (change.ratio - 1):+.1f} % [{low:+.1f}, {high:+.1f}]"
    kind = "better" if series.better(change) else "worse"
    sure = "more than 99.9\u00a0%" if change.probability > 0.999 else f"{100 * change.probability:.1f}\u00a0%"
    text = f"{size}, {kind}, from run {after.run}{_commit(after)} on (probability {sure})"
    if change.at in series.machines:
        return f"{text}; the machine is another one too, so the build may not be the cause"
    if after.loadstone != before.loadstone:
        return f"{text}; Loadstone is another version too ({before.loadstone}, then {after.loadstone})"
    return text


def _commit(row: HistoryRow) -> str:
    return f" (commit {row.commit[:_COMMIT]})" if row.commit else ""


def _notes(series: RunSeries, place: int) -> str:
    """What is special about a run."""
    row = series.rows[place]
    found = [f"change {100 * (each.ratio - 1):+.1f} %" for each in series.changes if each.at == place]
    if place in series.machines:
        found.append("another machine")
    if place and series.rows[place - 1].loadstone != row.loadstone:
        found.append(f"Loadstone {row.loadstone}")
    return "; ".join(found)


def _machine(series: RunSeries, at: int) -> str:
    """``from run 20260105-030405 on another machine: cpu ...``."""
    before, after = series.rows[at - 1], series.rows[at]
    return f"from run {after.run} on another machine: {_difference(before.machine, after.machine)}"


def _difference(before: str, after: str) -> str:
    """The facts that are others than before."""
    known = set(before.split(", "))
    return ", ".join(fact for fact in after.split(", ") if fact not in known) or "less is known of it"


def terminal(found: Sequence[RunSeries]) -> RenderableType:
    """A table for each series, with its last runs; changes above it."""
    parts: list[RenderableType] = []
    for series, title in zip(found, titles(found), strict=True):
        for change in series.changes:
            style_of = "green" if series.better(change) else "red"
            parts.append(Text(f"{title}: {sentence(series, change)}", style_of))
        parts += [Text(f"{title}: {_machine(series, at)}", "yellow") for at in series.machines]
        parts.append(_table(series, title))
    return Group(*parts)


def _table(series: RunSeries, title: str) -> Table:
    table = titled(title, "run", "commit", series.unit, "95 % interval", "", texts=("run", "commit", ""))
    for column in table.columns[:2]:
        column.no_wrap, column.overflow = True, "ellipsis"
    for place in range(max(0, len(series.rows) - LAST_RUNS), len(series.rows)):
        row = series.rows[place]
        interval = format.interval(row.low, row.high) if row.low is not None else format.NOTHING
        cells = (row.run, (row.commit or format.NOTHING)[:_COMMIT], format.number(row.value), interval)
        table.add_row(*(Text(cell) for cell in cells), Text(_notes(series, place)))
    return table


def page(found: Sequence[RunSeries], problems: Sequence[str], target: Path) -> None:
    """Write the page, which needs no other file."""
    headed = zip(found, titles(found), strict=True)
    shown = [_shown(series, title, number) for number, (series, title) in enumerate(headed)]
    studies = list(dict.fromkeys(series.study for series in found))
    values = {"series": shown, "studies": studies, "problems": problems, "runs": {r.run for s in found for r in s.rows}}
    target.write_text(rendering.render("history.html.j2", {}, values), encoding="utf-8")


def _shown(series: RunSeries, title: str, number: int) -> _Shown:
    with style.styled():
        figure = figures.course(series)
        style.settle(figure)
        svg = style.save(figure, "svg")
    changes = [sentence(series, change) for change in series.changes]
    machines = [_machine(series, at) for at in series.machines]
    notes = [(row, _notes(series, place)) for place, row in enumerate(series.rows)]
    picture = Markup(inline(svg, f"history{number}", title))
    return _Shown(series, title, changes, machines, notes[::-1], picture)
