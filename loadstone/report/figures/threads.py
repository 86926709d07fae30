"""Threads of each service before and after the window, and throttling against latency."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis import usage
from loadstone.analysis.latency import LoadPoint
from loadstone.analysis.metrics.replicas import ServiceRow
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import objective
from loadstone.report.figures.names import panelled, short

MOST = 30


def threads(content: Content) -> Figure | None:
    """From the window's start (hollow) to its end (filled), at the highest load that held."""
    held = {trial.trial_id for t in content.treatments if (trial := usage.highest_held(t)) is not None}
    rows = loads.valid(content, ServiceRow, "threads_before", "threads_after")
    rows = [row for row in rows if row.trial_id in held]
    if not rows:
        return None
    names = loads.most(rows, "service", "threads_after", MOST)[::-1]
    pairs = loads.treated(content, rows)
    titles = [short(treatment) for treatment, _ in pairs]
    figure, panels = style.panels(titles, 2, 1.0 + 0.24 * len(names), sharex=True, sharey=True)
    colour = style.COLOURS[0]
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        for row in (row for row in mine if row.service in names):
            y = names.index(row.service)
            before, after = style.known(row.threads_before), style.known(row.threads_after)
            axes.plot([before, after], [y, y], color=colour, lw=1.4, zorder=2)
            axes.scatter([before], [y], s=26, facecolors="white", edgecolors=colour, zorder=3)
            axes.scatter([after], [y], s=26, color=colour, zorder=4, linewidths=0)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"threads at {format.load(mine[0])}")
    panels[0].set_xlim(left=0)  # shared, so only when all is drawn
    marks = (("start", "white"), ("end", colour))
    style.legend(
        figure,
        [
            Line2D([], [], linestyle="", marker="o", color=colour, markerfacecolor=face, label=f"{when} of the window")
            for when, face in marks
        ],
    )
    return figure


def throttling(content: Content) -> Figure | None:
    """The SLO's percentile of each trial against the throttled share of its most throttled service."""
    column, name, limit = content.percentile
    worst: dict[str, float] = {}
    for row in loads.valid(content, ServiceRow, "throttled_periods_share"):
        worst[row.trial_id] = max(row.throttled_periods_share or 0.0, worst.get(row.trial_id, 0.0))
    rows = [row for row in content.rows(LoadPoint) if row.trial_id in worst and (getattr(row, column) is not None)]
    if not any(worst.values()) or not rows:
        return None
    groups = panelled(content.treatments)
    figure, panels = style.panels([title for title, _ in groups], 2, sharex=True, sharey=True)
    for axes, (_, series) in zip(panels, groups, strict=True):
        for group in series:
            mine = [row for row in rows if row.treatment == group.treatment.label]
            for verdict in style.VERDICTS:
                points = [(100 * worst[r.trial_id], getattr(r, column)) for r in mine if r.verdict == verdict]
                style.scatter(axes, points, verdict, group.colour)
        objective(axes, content)
        style.plain_scale(axes, "y", [getattr(row, column) for row in rows] + [limit], log=True)
        axes.set_xlabel("throttled periods of the most throttled service (%)")
        axes.set_ylabel(f"{name} latency{', closed loop' if content.closed else ''} (ms)")
    panels[0].set_xlim(left=-2)  # shared, so only when all is drawn
    colours = [
        Line2D([], [], linestyle="", marker="o", color=group.colour, label=group.name)
        for _, some in groups
        for group in some
    ]
    verdicts = style.verdict_handles({row.verdict for row in rows})
    style.legend(figure, [*(colours if 1 < len(colours) <= len(style.COLOURS) else []), *verdicts])
    return figure
