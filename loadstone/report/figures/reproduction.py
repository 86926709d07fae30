"""Percentile distributions of best-fit runs, as the fifth study draws them: the percentiles' axis is logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.reproduction_rows import BestFitPercentileRow
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import LINES, short
from loadstone.report.figures.spectrum import TICKS, nines
from loadstone.report.format import HasLoad

MOST_SPANS = 12
"""Panels: the spans that take most time; what is beyond stands in the table only."""
MOST_TREATMENTS = len(style.COLOURS)


class TreatedAtLoad(HasLoad, Protocol):
    """A row of a treatment at a load."""

    @property
    def treatment(self) -> str:
        """Its label."""


def shown_load(rows: Sequence[TreatedAtLoad]) -> tuple[float, int | None] | None:
    """The load that is shown where there are several: of those with most treatments the highest."""
    treatments: dict[tuple[float, int | None], set[str]] = {}
    for row in rows:
        treatments.setdefault((row.rate, row.clients), set()).add(row.treatment)
    return max(treatments, key=lambda load: (len(treatments[load]), load[0], load[1] or 0), default=None)


def percentiles(content: Content) -> Figure | None:
    """One panel for each span; a line for each treatment, and a band for the range of all its runs."""
    everything = content.rows(BestFitPercentileRow)
    load = shown_load(everything)
    rows = [row for row in everything if (row.rate, row.clients) == load and row.percentile < 100]
    spans = list(dict.fromkeys(row.span for row in rows))[:MOST_SPANS]
    treatments = list(dict.fromkeys(row.treatment for row in rows))[:MOST_TREATMENTS]
    if not spans:
        return None
    figure, panels = style.panels([_short(span) for span in spans], 3 if len(spans) > 4 else 2, 2.3, style.wide())
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    highest = max(row.percentile for row in rows)
    ticks = [0, *(tick for tick in TICKS if tick != 50 and tick <= highest)]
    for axes, span in zip(panels, spans, strict=True):
        mine = [row for row in rows if row.span == span]
        for index, treatment in enumerate(treatments):
            line = [row for row in mine if row.treatment == treatment]
            places = [nines(row.percentile) for row in line]
            colour = style.COLOURS[index]
            low, high = ([getattr(row, end) for row in line] for end in ("lowest_us", "highest_us"))
            axes.fill_between(places, low, high, color=colour, alpha=0.18, linewidth=0)
            latencies = [row.latency_us for row in line]
            axes.plot(places, latencies, color=colour, linestyle=LINES[index], linewidth=1.5)
        axes.set_xticks([nines(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        style.plain_scale(axes, "y", [getattr(row, end) for row in mine for end in ("lowest_us", "highest_us")])
        axes.set_ylabel("us")
        axes.set_xlabel("percentile")
    style.legend(
        figure,
        [
            Line2D([], [], color=style.COLOURS[index], linestyle=LINES[index], label=names[treatment])
            for index, treatment in enumerate(treatments)
        ],
    )
    return figure


def _short(span: str) -> str:
    return span if len(span) <= 34 else f"{span[:31]}..."
