"""Latency by operation beside the breaking point."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.latency import OperationRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import short

_PLACE = dict.fromkeys(("held", "measured"), (0.16, style.COLOURS[0])) | {"not held": (-0.16, style.COLOURS[1])}
"""Where on an operation's row a trial is drawn, and its colour."""


def operations(content: Content) -> Figure | None:
    """From the median to P99 of each operation, in the highest trial that held and the lowest from there on that did
    not."""
    everything = [row for row in content.rows(OperationRow) if row.p99_ms is not None]
    shown = [t for t in content.treatments if any(row.treatment == t.label for row in everything)]
    if not shown:
        return None
    names = _names(everything)
    figure, panels = style.panels([short(t) for t in shown], 2, 1.1 + 0.42 * len(names), sharex=True, sharey=True)
    for axes, treatment in zip(panels, shown, strict=True):
        rows = [row for row in everything if row.treatment == treatment.label]
        for row in rows:
            offset, colour = _PLACE[row.verdict]
            y = names.index(row.operation) + offset
            median, tail = style.known(row.p50_ms), style.known(row.p99_ms)
            axes.plot([median, tail], [y, y], color=colour, linewidth=1.4, zorder=2)
            axes.plot([median], [y], "|", color=colour, markersize=9, markeredgewidth=1.6)
            style.scatter(axes, [(tail, y)], row.verdict, colour)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(axis="y", visible=False)
        style.plain_scale(axes, "x", [latency for row in everything for latency in (row.p50_ms, row.p99_ms)])
        loads = {row.verdict: format.load(row) for row in rows}
        at = f"at {' and '.join(loads.values())}"
        axes.set_xlabel(f"latency{', closed loop' if content.closed else ''} (ms)\n{at}")
    style.legend(figure, [_handle(verdict) for verdict in _PLACE if any(r.verdict == verdict for r in everything)])
    return figure


def _names(rows: Sequence[OperationRow]) -> list[str]:
    """Operations by their worst P99, the worst on top."""
    worst = {row.operation: row.p99_ms or 0.0 for row in sorted(rows, key=lambda row: row.p99_ms or 0.0)}
    return sorted(worst, key=lambda name: worst[name])


def _handle(verdict: str) -> Line2D:
    what = {"held": "highest load held", "measured": "most clients"}.get(verdict, "lowest from there on not held")
    marker = style.VERDICTS[verdict]["marker"]
    return Line2D([], [], color=_PLACE[verdict][1], marker=marker, markersize=5, label=f"{what}: median to P99")
