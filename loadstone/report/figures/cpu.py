"""Where the CPU time goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from loadstone.analysis.usage import ServiceCpu
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import short

_TIERS = {"frontend": 0, "logic": 2, "caching": 4, "storage": 3, "tracing": 5}
_MOST, _LEAST = 20, 0.01
"""At most so many services, and none that uses less than this share of the busiest one's CPU."""


def cpu(content: Content) -> Figure | None:
    """CPU by service at the highest held load; limits are drawn where they are anywhere near."""
    everything = content.rows(ServiceCpu)
    if not everything:
        return None
    services = _busiest(everything)
    using = {row.treatment for row in everything if row.service in services}
    shown = [treatment for treatment in content.treatments if treatment.label in using]
    highest = max(row.cores for row in everything)
    decimals = 2 if highest >= 0.1 else 3
    near = [row for row in everything if row.limit_cores is not None and row.limit_cores <= 2 * highest]
    figure, panels = style.panels([short(t) for t in shown], 2, 1.0 + 0.24 * len(services), sharex=True, sharey=True)
    for axes, treatment in zip(panels, shown, strict=True):
        rows = [row for row in everything if row.treatment == treatment.label and row.service in services]
        for row in rows:
            y = services.index(row.service)
            axes.barh(y, row.cores, color=_colour(row.tier), height=0.68)
            axes.annotate(
                f"{row.cores:.{decimals}f}",
                (1.01, y),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
            )
            if row in near:
                axes.plot([style.known(row.limit_cores)] * 2, [y - 0.4, y + 0.4], color=style.INK, linewidth=1.6)
        axes.set_yticks(range(len(services)), services)
        axes.grid(axis="y", visible=False)
        axes.margins(y=0.01)
        axes.set_xlabel(f"cores used at {format.load(rows[0])}")
    present = {row.tier for row in everything}
    handles: list[Any] = [Patch(color=_colour(tier), label=tier) for tier in _TIERS if tier in present]
    if near:
        look: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 9, "markeredgewidth": 1.6}
        handles.append(Line2D([], [], color=style.INK, label="limit", **look))
    style.legend(figure, handles)
    return figure


def _busiest(rows: Sequence[ServiceCpu]) -> list[str]:
    """Services by their most CPU in any treatment, the busiest last: it is drawn on top."""
    most: dict[str, float] = {}
    for row in rows:
        most[row.service] = max(row.cores, most.get(row.service, 0.0))
    enough = [service for service in most if most[service] >= _LEAST * max(most.values())]
    return sorted(enough, key=lambda service: most[service])[-_MOST:]


def _colour(tier: str | None) -> str:
    return style.COLOURS[_TIERS.get(tier or "", 5)]
