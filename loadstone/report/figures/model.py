"""The capacity model: predictions beside what was measured, and what requests cost."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.capacity import Score
from loadstone.report.content import Content
from loadstone.report.demand_rows import DemandPoint
from loadstone.report.figures import style

_LOOK = {"predicted": ("D", style.COLOURS[1]), "measured": ("o", style.COLOURS[0])}


def predictions(content: Content) -> Figure | None:
    """One line a treatment: the predicted interval above the measured one."""
    rows = content.rows(Score)
    if not rows:
        return None
    figure, (axes,) = style.panels([""], 1, 1.2 + 0.5 * len(rows))
    ends = []
    for place, row in enumerate(rows):
        for name, shift in (("predicted", -0.14), ("measured", 0.14)):
            if getattr(row, name) is None:
                continue
            marker, colour = _LOOK[name]
            low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
            axes.plot([low, high], [place + shift] * 2, color=colour, linewidth=2)
            axes.plot([getattr(row, name)], [place + shift], marker=marker, color=colour, markersize=5)
            ends += [low, high]
    axes.set_yticks(range(len(rows)), [row.treatment for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    style.plain_scale(axes, "x", ends)
    axes.set_xlabel("breaking point (requests/s)")
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=5, label=name)
        for name, (marker, colour) in _LOOK.items()
    ]
    style.legend(figure, handles)
    return figure


def demands(content: Content) -> Figure | None:
    """CPU per request against the load, a colour a service; a panel a treatment."""
    rows = content.rows(DemandPoint)
    if not rows:
        return None
    treatments = list(dict.fromkeys(row.treatment for row in rows))
    services = list(dict.fromkeys(row.service for row in rows))[: len(style.COLOURS)]
    figure, panels = style.panels(treatments, 2, style.HEIGHT, sharey=True)
    for axes, treatment in zip(panels, treatments, strict=True):
        for index, service in enumerate(services):
            mine = [row for row in rows if (row.treatment, row.service) == (treatment, service)]
            curve = [row for row in mine if row.trial_id is None]
            colour, load = style.COLOURS[index], [row.load for row in curve]
            low, high = [style.known(row.low) for row in curve], [style.known(row.high) for row in curve]
            axes.fill_between(load, low, high, color=colour, alpha=0.15, lw=0)
            axes.plot(load, [row.cpu_ms for row in curve], color=colour, linewidth=1.4)
            points = [row for row in mine if row.trial_id is not None]
            axes.plot([row.load for row in points], [row.cpu_ms for row in points], "o", color=colour, markersize=3.5)
        loads = [row.load for row in rows if row.treatment == treatment]
        style.plain_scale(axes, "x", loads, log=False)
        axes.set_xlabel("load (requests/s)")
    panels[0].set_ylim(bottom=0)  # shared, so only when all is drawn
    panels[0].set_ylabel("CPU per request (ms)")
    style.legend(figure, [Line2D([], [], color=style.COLOURS[i], label=service) for i, service in enumerate(services)])
    return figure
