"""The page's part of interference: latency and throughput beside each neighbour, and what the neighbour used."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analysis import interference as analysis
from loadstone.analysis.interference import InterferenceRow, NeighbourLoadRow, NeighbourRow
from loadstone.analysis.schema import tables
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import interference as figure
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.names import short
from loadstone.report.section import Section

_KIND = Kind(
    "interference",
    figure.levels,
    "Latency, throughput and neighbours",
    "Geometric means over runs with their 95 % intervals{which}. Bars: processor time of the neighbours on all nodes.",
    "interference",
    wide=True,
)


@dataclass(frozen=True)
class _Line:
    """A row of the page's table: values with their intervals as text, and what they are sorted by."""

    row: InterferenceRow
    name: str
    p50: str
    p99: str
    throughput: str
    neighbour_throughput: str
    neighbour_p50: str
    neighbour_p99: str


def gather(content: Content) -> Section | None:
    """None where nothing disturbed any trial."""
    used, loads = analysis.neighbours(content.run), analysis.neighbour_loads(content.run)
    if not used:
        return None
    levels = analysis.levels(content.run, used, loads)
    nodes = dict.fromkeys(row.node for row in used)
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    shown = {
        "lines": [_line(row, names[row.treatment]) for row in levels],
        "alone": levels[0].level if len({row.level for row in levels}) == 1 else "",
        "nodes": ", ".join(nodes),
        "measured": any(row.p50_ms is not None for row in levels),
        "loaded": bool(loads),
    }
    drawn = figure.drawn(levels)
    which = f", of the first {figure.MOST} treatments" if len(drawn) > figure.MOST else ""
    found = tables((InterferenceRow, levels), (NeighbourRow, used))
    if loads:
        found |= tables((NeighbourLoadRow, loads))
    return Section(
        name="interference",
        title="Interference",
        tables=found,
        kinds=(_KIND,) if drawn else (),
        shown=shown,
        facts={"which": which},
    )


def _line(row: InterferenceRow, name: str) -> _Line:
    return _Line(
        row,
        name,
        _with(row.p50_ms, row.p50_ms_low, row.p50_ms_high),
        _with(row.p99_ms, row.p99_ms_low, row.p99_ms_high),
        _with(row.throughput, row.throughput_low, row.throughput_high),
        _with(row.neighbour_throughput, row.neighbour_throughput_low, row.neighbour_throughput_high),
        _with(row.neighbour_p50_ms, row.neighbour_p50_ms_low, row.neighbour_p50_ms_high),
        _with(row.neighbour_p99_ms, row.neighbour_p99_ms_low, row.neighbour_p99_ms_high),
    )


def _with(value: float | None, low: float | None, high: float | None) -> str:
    return format.number(value) + ("" if low is None else f" {format.interval(low, high)}")
