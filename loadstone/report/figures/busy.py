"""Processor time of nodes and of services against the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.metrics.nodes import NodeRow
from loadstone.analysis.metrics.replicas import ServiceRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import load_label
from loadstone.report.figures.names import LINES, short

MOST = len(style.COLOURS)
_FEW = 8
"""Nodes whose bars have room in a third of the page."""


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


def node_bars(content: Content) -> Figure | None:
    """Cores at work on every node at the highest load of each treatment, a bar each.

    Also of nodes that share a machine, as far as each is counted; else of that machine.
    """
    rows = loads.valid(content, NodeRow, "cpu_cores")
    apart = {row.trial_id for row in rows if row.shared_by is None}
    rows = [row for row in rows if row.shared_by is None or row.trial_id not in apart]
    pairs = loads.treated(content, rows)
    if not pairs:
        return None
    names = list(dict.fromkeys(row.node for row in rows))
    titles = [f"{short(treatment)}\n{format.load(max(mine, key=lambda row: row.load))}" for treatment, mine in pairs]
    across = 2 if len(names) > _FEW else 3
    figure, panels = style.panels(titles, across, 2.3 if len(pairs) > 1 else 2.8, style.wide(), sharey=True)
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        highest = max(row.load for row in mine)
        there = [name for name in names if any(row.node == name and row.load == highest for row in mine)]
        for place, name in enumerate(there):
            cores = [row.cpu_cores or 0.0 for row in mine if (row.node, row.load) == (name, highest)]
            axes.bar(place, median(cores), width=0.76, color=style.COLOURS[0], linewidth=0)
        axes.set_xticks(range(len(there)), there)
        axes.grid(axis="x", visible=False)
        axes.set_xlim(-0.7, len(there) - 0.3)
        axes.set_ylabel("cores at work")
    return figure


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
        style.plain_scale(axes, "x", [row.load for row in rows], log=False)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(label)
    panels[0].set_ylim(bottom=0)  # shared, so only when all is drawn
    handles = [Line2D([], [], color=style.COLOURS[i], linestyle=LINES[i], label=name) for i, name in enumerate(names)]
    style.legend(figure, handles)
    return figure
