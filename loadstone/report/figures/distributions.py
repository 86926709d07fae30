"""Chosen spans run by run: percentile curves, histograms, and distances between runs of a treatment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, TypeVar

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from loadstone.analysis.distribution_rows import HistogramRow, OfSpan, RangeRow, RunCurveRow
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.names import LINES, in_lines, short
from loadstone.report.figures.reproduction import TreatedAtLoad, shown_load
from loadstone.report.figures.spectrum import TICKS, nines

MOST_RUNS = 5
"""Most runs of each treatment that are drawn as lines; the study drew as many."""
MOST_PANELS = 6
_TITLE = 22
"""Characters in a line of a panel's title."""
_BESIDE_NAMES = 20
"""The same where the names of treatments stand beside the panels."""


_Row = TypeVar("_Row", bound=TreatedAtLoad)


@dataclass(frozen=True)
class _Panel:
    """A span under the baseline and one other treatment: their labels."""

    span: str
    treatments: tuple[str, ...]


def _panels(rows: Sequence[OfSpan]) -> Iterator[_Panel]:
    """One of each span and treatment beside the baseline; where there is no other, of the baseline alone."""
    for span in dict.fromkeys(row.span for row in rows):
        here = {row.treatment: row.baseline for row in rows if row.span == span}
        first = tuple(treatment for treatment, baseline in here.items() if baseline)
        others = [treatment for treatment, baseline in here.items() if not baseline]
        yield from (_Panel(span, (*first, other)) for other in others) if others else (_Panel(span, first),)


def panel_count(rows: Sequence[OfSpan]) -> int:
    """Panels that figures of pairs of treatments would have without a limit."""
    return len(list(_panels(at_load(rows))))


def at_load(rows: Sequence[_Row]) -> list[_Row]:
    """The rows of the load that is shown where there are several."""
    load = shown_load(rows)
    return [row for row in rows if (row.rate, row.clients) == load]


def runs(content: Content) -> Figure | None:
    """One line for each of the first runs of the baseline and of another treatment."""
    rows = [row for row in at_load(content.rows(RunCurveRow)) if row.percentile < 100]
    every = list(_panels(rows))[:MOST_PANELS]
    if not every:
        return None
    figure, panels = _wide(content, every)
    for axes, panel in zip(panels, every, strict=True):
        drawn: list[RunCurveRow] = []
        for place, treatment in enumerate(panel.treatments):
            mine = [row for row in rows if (row.span, row.treatment) == (panel.span, treatment)]
            for trial in list(dict.fromkeys(row.trial_id for row in mine))[:MOST_RUNS]:
                line = [row for row in mine if row.trial_id == trial]
                x = [nines(row.percentile) for row in line]
                axes.plot(x, [row.latency_us for row in line], linewidth=1.1, alpha=0.85, **_look(place))
                drawn += line
        highest = max(row.percentile for row in drawn)
        ticks = [0, *(tick for tick in TICKS if tick != 50 and tick <= highest)]
        axes.set_xticks([nines(tick) for tick in ticks], [f"{tick:g}" for tick in ticks])
        style.plain_scale(axes, "y", [row.latency_us for row in drawn])
        axes.set_xlabel("percentile")
        axes.set_ylabel("us")
    _legend(content, figure, every)
    return figure


def histograms(content: Content) -> Figure | None:
    """The best-fit run of the baseline and that of another treatment, in the same bins."""
    rows = at_load(content.rows(HistogramRow))
    every = list(_panels(rows))[:MOST_PANELS]
    if not every:
        return None
    figure, panels = _wide(content, every)
    for axes, panel in zip(panels, every, strict=True):
        for place, treatment in enumerate(panel.treatments):
            mine = [row for row in rows if (row.span, row.treatment) == (panel.span, treatment)]
            edges = [mine[0].low_us, *(row.high_us for row in mine)]
            shares = [100 * row.share for row in mine]
            colour = _look(place)["color"]
            axes.stairs(shares, edges, fill=True, alpha=0.25, color=colour)
            axes.stairs(shares, edges, linewidth=1.2, **_look(place))
        style.plain_scale(axes, "x", edges, log=False)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("us")
        axes.set_ylabel("observations (%)")
    _legend(content, figure, every)
    return figure


def ranges(content: Content) -> Figure | None:
    """A row for each span: AD and KS of every two runs of each treatment, from the least to the greatest."""
    rows = at_load(content.rows(RangeRow))
    spans = list(dict.fromkeys(row.span for row in rows))[: MOST_PANELS // 2]
    if not spans:
        return None
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    titles = [in_lines(f"{name}, {span}", _BESIDE_NAMES) for span in spans for name in ("AD", "KS")]
    figure, panels = style.panels(titles, 2, 1.4 + 0.3 * len({row.treatment for row in rows}), sharey="row")
    for place, axes in enumerate(panels):
        mine = [row for row in rows if row.span == spans[place // 2]]
        for y, row in enumerate(mine):
            low, middle, high = (getattr(row, f"{('ad', 'ks')[place % 2]}_{end}") for end in ("min", "mean", "max"))
            colour = style.COLOURS[y % len(style.COLOURS)]
            axes.plot([low, high], [-y, -y], color=colour, linewidth=1.6, marker="|", markersize=9)
            axes.plot([middle], [-y], color=colour, marker="o", markersize=5)
        axes.set_yticks([-y for y in range(len(mine))], [fill(names[row.treatment], 20) for row in mine])
        axes.set_ylim(0.5 - len(mine), 0.5)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(("AD statistic", "KS statistic")[place % 2])
    return figure


def _wide(content: Content, every: Sequence[_Panel]) -> tuple[Figure, Any]:
    """A panel for each pair, titled by its span, and by the treatment that the colour of a second one stands for."""
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    several = len({panel.treatments for panel in every}) > 1
    titles = [in_lines(panel.span + (f": {names[panel.treatments[-1]]}" if several else ""), _TITLE) for panel in every]
    return style.panels(titles, 2, None if len(every) == 1 else 2.7)


def _look(place: int) -> dict[str, Any]:
    return {"color": style.COLOURS[place], "linestyle": LINES[place]}


def _legend(content: Content, figure: Figure, every: Sequence[_Panel]) -> None:
    """The baseline, and the other treatment by its name where it is one in all panels."""
    names = {treatment.label: short(treatment) for treatment in content.treatments}
    others = list(dict.fromkeys(panel.treatments[-1] for panel in every if len(panel.treatments) > 1))
    called = [names[every[0].treatments[0]]]
    called += [names[others[0]]] if len(others) == 1 else ["the one in the title"] if others else []
    style.legend(figure, [Line2D([], [], label=name, **_look(place)) for place, name in enumerate(called)])
