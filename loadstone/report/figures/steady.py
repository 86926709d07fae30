"""Latency over time beside the breaking point, with the warm-up that was cut."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from loadstone.analysis.grouping import grouped
from loadstone.analysis.steady_state_table import LatencyPart, SteadyRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style

MOST = 12
"""Panels; what is beyond stands in the table only."""
_LINES: dict[str, dict[str, Any]] = {
    "mean": {"color": style.QUIET, "linewidth": 0.8, "label": "mean by due time"},
    "p50": {"color": style.COLOURS[0], "linewidth": 1.6, "label": "P50 of each second"},
    "p99": {"color": style.COLOURS[1], "linewidth": 1.6, "label": "P99 of each second"},
}
_CUT: dict[str, Any] = {"color": style.COLOURS[4], "alpha": 0.25, "linewidth": 0, "label": "cut as warm-up (MSER-5)"}
_CHANGE: dict[str, Any] = {"color": style.COLOURS[3], "linewidth": 1.2, "linestyle": "--", "label": "change of level"}


def over_time(content: Content) -> Figure | None:
    """One panel for each trial that is shown."""
    points = grouped(content.rows(LatencyPart), lambda point: point.trial_id)
    verdicts = {row.trial_id: row for row in content.rows(SteadyRow)}
    shown = list(points)[:MOST]
    if not shown:
        return None
    several = len(content.treatments) > 1
    figure, panels = style.panels([_title(points[trial][0], several) for trial in shown], 2, 2.1, sharey=True)
    for axes, trial in zip(panels, shown, strict=True):
        _draw(axes, points[trial])
        if trial in verdicts:
            _mark(axes, verdicts[trial])
        axes.set_xlabel("s from the start of the window")
    panels[0].set_ylabel("latency (ms)")
    every = [point for trial in shown for point in points[trial]]
    for axes in panels:
        style.plain_scale(axes, "y", [point.ms for point in every])
    style.legend(figure, _handles(every, [verdicts[trial] for trial in shown if trial in verdicts]))
    return figure


def _title(trial: LatencyPart, several: bool) -> str:
    text = f"{trial.verdict} at {format.load(trial)}"
    return f"{trial.treatment}\n{text}" if several else text


def _draw(axes: Axes, points: list[LatencyPart]) -> None:
    for what, look in _LINES.items():
        mine = [point for point in points if point.what == what]
        if not mine:
            continue
        if what == "mean":
            axes.plot([(point.from_s + point.to_s) / 2 for point in mine], [point.ms for point in mine], **look)
        else:
            edges = [point.from_s for point in mine] + [mine[-1].to_s]
            axes.step(edges, [point.ms for point in mine] + [mine[-1].ms], where="post", **look)
    axes.set_xlim(0, max(point.to_s for point in points))


def _mark(axes: Axes, verdict: SteadyRow) -> None:
    if verdict.cut_s:
        axes.axvspan(0, verdict.cut_s, **_CUT)
    for at in verdict.changes_s or ():
        axes.axvline(at, **_CHANGE)


def _handles(points: list[LatencyPart], verdicts: list[SteadyRow]) -> list[Any]:
    present = {point.what for point in points}
    handles: list[Any] = [Line2D([], [], **look) for what, look in _LINES.items() if what in present]
    if any(verdict.cut_s for verdict in verdicts):
        handles.append(Patch(**_CUT))
    if any(verdict.changes_s for verdict in verdicts):
        handles.append(Line2D([], [], **_CHANGE))
    return handles
