"""Processor time of nodes and of services against the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.metrics.nodes import NodeRow
from loadstone.analysis.metrics.replicas import ServiceRow
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import load_label
from loadstone.report.figures.names import LINES, short

MOST = len(style.COLOURS)


@dataclass(frozen=True)
class _Point:
    """What a node or a service used in one trial."""

    treatment: str
    load: float
    name: str
    used: float


def nodes(content: Content) -> Figure | None:
    """The busy share of each node's CPUs; where nodes share a machine, of each node that has CPUs of its own."""
    rows = loads.valid(content, NodeRow, "cpu_cores", "cpus")
    apart = {row.trial_id for row in rows if row.shared_by is None}
    rows = [row for row in rows if row.shared_by is None or row.trial_id not in apart]
    points = [_Point(row.treatment, row.load, row.node, 100 * (row.busy or 0.0)) for row in rows]
    return _lines(content, points, "busy share of its CPUs (%)", 100.0)


def services(content: Content) -> Figure | None:
    """Cores used by the busiest services."""
    rows = loads.valid(content, ServiceRow, "cores")
    points = [_Point(row.treatment, row.load, row.service, row.cores or 0.0) for row in rows]
    return _lines(content, points, "cores used", None)


def _lines(content: Content, rows: Sequence[_Point], label: str, full: float | None) -> Figure | None:
    if not rows:
        return None
    names = loads.most(rows, "name", "used", MOST)
    pairs = loads.treated(content, rows)
    figure, panels = style.panels([short(treatment) for treatment, _ in pairs], 2, sharex=True, sharey=True)
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        for index, group in enumerate(names):
            some = [row for row in mine if row.name == group]
            look: dict[str, Any] = {"color": style.COLOURS[index]}
            axes.scatter([row.load for row in some], [row.used for row in some], s=9, alpha=0.5, lw=0, **look)
            points = loads.medians(some, "used")
            axes.plot(*zip(*points, strict=True), linestyle=LINES[index], linewidth=1.4, **look) if points else None
        if full is not None:
            axes.axhline(full, color=style.QUIET, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        axes.set_ylim(bottom=0)
        style.plain_scale(axes, "x", [row.load for row in rows], log=False)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(label)
    handles = [Line2D([], [], color=style.COLOURS[i], linestyle=LINES[i], label=name) for i, name in enumerate(names)]
    style.legend(figure, handles)
    return figure
