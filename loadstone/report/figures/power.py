"""Power by domain, and what a request costs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.metrics.power import EnergyRow
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import load_label
from loadstone.report.figures.names import panelled, short


def domains(content: Content) -> Figure | None:
    """Watts of all nodes with replicas together: cores, the rest of their packages, memory."""
    rows = loads.valid(content, EnergyRow, "watts")
    if not rows:
        return None
    parts = _parts(rows)
    colours = loads.looks(parts)
    pairs = loads.treated(content, rows)
    figure, panels = style.panels([short(treatment) for treatment, _ in pairs], 2, sharey=True)
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        at = loads.shown(row.load for row in mine)
        heights = {
            part: [median(_watts(row, part, parts) for row in mine if row.load == load) for load in at]
            for part in parts
        }
        loads.stacked(axes, at, heights, colours)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel("power (W)")
    style.legend(figure, loads.handles(colours))
    return figure


def _parts(rows: Sequence[EnergyRow]) -> list[str]:
    """Cores and memory are shown where every trial recorded them."""
    cores = all(row.core_watts is not None for row in rows)
    package = ["cores", "rest of the package"] if cores else ["package"]
    return package + ["DRAM"] * all(row.dram_watts is not None for row in rows)


def _watts(row: EnergyRow, part: str, parts: list[str]) -> float:
    if part == "DRAM":
        return row.dram_watts or 0.0
    if part == "cores":
        return row.core_watts or 0.0
    return (row.package_watts or 0.0) - ((row.core_watts or 0.0) if "cores" in parts else 0.0)


def per_request(content: Content) -> Figure | None:
    """Joules per completed request against the load, a line a treatment."""
    rows = loads.valid(content, EnergyRow, "joules_per_request")
    if not rows:
        return None
    groups = panelled(content.treatments)
    figure, panels = style.panels([title for title, _ in groups], 2, sharex=True, sharey=True)
    for axes, (_, series) in zip(panels, groups, strict=True):
        for group in series:
            mine = [row for row in rows if row.treatment == group.treatment.label]
            for verdict in style.VERDICTS:
                points = [(row.load, style.known(row.joules_per_request)) for row in mine if row.verdict == verdict]
                style.scatter(axes, points, verdict, group.colour)
            line = loads.medians(mine, "joules_per_request")
            axes.plot(*zip(*line, strict=True), color=group.colour, linestyle=group.line, lw=1.2) if line else None
        style.plain_scale(axes, "x", [row.load for row in rows])
        style.plain_scale(axes, "y", [row.joules_per_request for row in rows])
        axes.set_xlabel(load_label(content))
        axes.set_ylabel("energy per request (J)")
    lines = [Line2D([], [], color=group.colour, linestyle=group.line, label=group.name) for group in groups[0][1]]
    verdicts = style.verdict_handles({row.verdict for row in rows})
    style.legend(figure, [*(lines if len(lines) > 1 else []), *verdicts])
    return figure
