"""Latency over all percentiles, on an axis that gives every further nine the same room."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from loadstone.analysis.latency import SpectrumPoint
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import LINES, short

TICKS = (50, 90, 99, 99.9, 99.99, 99.999)


def spectrum(content: Content) -> Figure | None:
    """The percentile spectrum at about 50, 80 and 95 % of each breaking point."""
    offered = {row.trial_id: row.offered or 0 for row in content.run.trials}
    # Above one request in all that were offered there is only the maximum, again and again.
    known = [row for row in content.rows(SpectrumPoint) if row.latency_ms is not None]
    everything = [row for row in known if (100 - row.percentile) / 100 * offered[row.trial_id] >= 1]
    shown = [t for t in content.treatments if any(row.treatment == t.label for row in everything)]
    if not shown:
        return None
    figure, panels = style.panels([short(t) for t in shown], 2, sharex=True, sharey=True)
    for axes, treatment in zip(panels, shown, strict=True):
        rows = [row for row in everything if row.treatment == treatment.label]
        for index, trial in enumerate(dict.fromkeys(row.trial_id for row in rows)):
            mine = [row for row in rows if row.trial_id == trial]
            axes.plot(
                [nines(row.percentile) for row in mine],
                [style.known(row.latency_ms) for row in mine],
                color=style.COLOURS[index],
                linestyle=LINES[-index - 4],
                linewidth=1.6,
                label=f"{format.load(mine[0])} ({format.percent(round(mine[0].share, 2))})",
            )
        for percentile, limit in (content.slo.limits if content.slo else {}).items():
            axes.plot([nines(percentile)], [limit], marker="_", color=style.INK, markersize=16, markeredgewidth=2)
            text = f"SLO: P{percentile:g} ≤ {format.milliseconds(limit)}"
            axes.annotate(text, (nines(percentile), limit), (0, 4), textcoords="offset points", ha="center", fontsize=8)
        highest = max((row.percentile for row in everything), default=99)
        ticks = [tick for tick in TICKS if tick <= highest]
        axes.set_xticks([nines(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        style.plain_scale(axes, "y", [row.latency_ms for row in everything], log=True)
        axes.margins(y=0.12)
        axes.set_xlabel(f"percentile of the {'answers' if content.closed else 'scheduled requests'}")
        axes.set_ylabel(f"latency{', closed loop' if content.closed else ''} (ms)")
        axes.legend(loc="lower right")
    return figure


def nines(percentile: float) -> float:
    """0 at the minimum, 1 at the 90th percentile, 2 at the 99th ..."""
    return -math.log10(1 - percentile / 100)
