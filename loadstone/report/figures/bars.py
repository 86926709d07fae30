"""Bars with intervals: breaking points of treatments, and what they came to at the few loads that a study has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from loadstone.analysis.curves import CurvePoint
from loadstone.analysis.summary import BreakingPointRow, TreatmentSummary
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import intervals, loads, style
from loadstone.report.figures.names import factors, level, numeric, short

_COLOURED = "orchestrator"
"""The factor whose levels have a colour each, where it is varied; else the first of several."""
MOST_LOADS, _MOST_BARS = 3, 24


@dataclass(frozen=True)
class _Bar:
    """A bar of one treatment; without a value the range that it lies in."""

    panel: str
    group: str
    colour: str
    value: float | None
    low: float | None
    high: float | None


def breaking(content: Content) -> Figure | None:
    """Breaking points with their intervals: a group a scaling, a colour an orchestrator, a panel an application."""
    found = {row.treatment: row for row in content.rows(BreakingPointRow) if row.search is None}
    treatments = [t for t in content.treatments if t.label in found and t.trials]  # others have no levels yet
    if len(treatments) < 2:
        return None
    bars = []
    for treatment, (panel, group, colour) in _places(treatments).items():
        row = found[treatment]
        low = row.breaking_point_low if row.breaking_point is not None else row.low
        high = row.breaking_point_high if row.breaking_point is not None else row.high
        bars.append(_Bar(panel, group, colour, row.breaking_point, low, high))
    return _figure(bars, {"": "breaking point (requests/s)"})


def at_loads(content: Content) -> Figure | None:
    """Latencies and what was not completed, of studies with at most three loads and without a grid of numbers."""
    column, name, _ = content.percentile
    labels = {"mean_ms": "mean latency (ms)", column: f"{name} latency (ms)", "unfinished_share": "not completed (%)"}
    points = [point for point in content.rows(CurvePoint) if point.quantity in labels]
    treatments = [t for t in content.treatments if any(point.treatment == t.label for point in points)]
    at = sorted({point.load for point in points})
    apart = len(at) > 1 and all(len({p.load for p in points if p.treatment == t.label}) == 1 for t in treatments)
    if content.closed or len(treatments) < 2 or len(numeric(treatments)) > 1 or (len(at) > MOST_LOADS and not apart):
        return None
    if not any(point.mean for point in points if point.quantity == "unfinished_share"):
        del labels["unfinished_share"]
    bars = []
    for panel, load, quantity, treatment, group, colour in _each(treatments, None if apart else at, labels):
        mine = [p for p in points if p.treatment == treatment and load in (None, p.load)]
        point = next((p for p in mine if p.quantity == quantity), None)
        if mine:
            scale = 100.0 if quantity == "unfinished_share" else 1.0
            ends = (point.mean, point.low, point.high) if point is not None else (None, None, None)
            title = " · ".join(filter(None, (panel, f"{format.number(load)} req/s" if load and len(at) > 1 else "")))
            bars.append(_Bar(f"{title}\n{labels[quantity]}", group, colour, *(end and scale * end for end in ends)))
    return _figure(bars, {f"\n{label}": label for label in labels.values()})


def _each(
    treatments: Sequence[TreatmentSummary], at: Sequence[float] | None, quantities: Iterable[str]
) -> Iterator[tuple[str, float | None, str, str, str, str]]:
    """Panel, load (None: each treatment has its own), quantity, treatment, group and colour, in the order of panels."""
    places = _places(treatments)
    for panel in dict.fromkeys(panel for panel, _, _ in places.values()):
        for load in [None] if at is None else at:
            for quantity in quantities:
                for treatment, (its, group, colour) in places.items():
                    if its == panel:
                        yield panel, load, quantity, treatment, group, colour


def _places(treatments: Sequence[TreatmentSummary]) -> dict[str, tuple[str, str, str]]:
    """By label the panel, the group on its axis, and the colour."""
    varied = factors(list(treatments))
    several = len({treatment.application for treatment in treatments}) > 1 and len(varied) > 1
    apart, rest = (varied[:1], varied[1:]) if several else ([], varied)
    coloured = _COLOURED if _COLOURED in rest else rest[0] if len(rest) > 1 else ""
    found = {}
    for treatment in treatments:
        levels = treatment.levels
        group = _named(levels, [name for name in rest if name != coloured]) or short(treatment)
        colour = _named(levels, [coloured] if coloured else [])
        found[treatment.label] = (_named(levels, apart), group, colour)
    return found


def _named(levels: Mapping[str, str], names: Sequence[str]) -> str:
    return " · ".join(level(name, levels.get(name, "")) for name in names)


def _figure(bars: Sequence[_Bar], labels: Mapping[str, str]) -> Figure | None:
    titles = list(dict.fromkeys(bar.panel for bar in bars))
    if max(sum(bar.panel == title for bar in bars) for title in titles) > _MOST_BARS:
        return None
    colours = loads.looks(list(dict.fromkeys(bar.colour for bar in bars)))
    columns = len(labels) if len(labels) > 1 else 2
    across = style.wide() if len(titles) > 1 else style.width()
    figure, panels = style.panels([title.partition("\n")[0] for title in titles], columns, 2.6, across)
    for axes, title in zip(panels, titles, strict=True):
        _panel(axes, [bar for bar in bars if bar.panel == title], colours)
        axes.set_ylabel(next(label for end, label in labels.items() if title.endswith(end)))
    style.legend(figure, [Patch(label=name, linewidth=0, **look) for name, look in colours.items() if name])
    return figure


def _panel(axes: Axes, bars: Sequence[_Bar], colours: Mapping[str, dict[str, Any]]) -> None:
    groups, names = (list(dict.fromkeys(found)) for found in zip(*((b.group, b.colour) for b in bars), strict=True))
    width = 0.8 / len(names)
    for bar in bars:
        x = groups.index(bar.group) + (names.index(bar.colour) - (len(names) - 1) / 2) * width
        ends = [end for end in (bar.low, bar.high) if end is not None]
        if bar.value is not None:
            axes.bar(x, bar.value, width=0.9 * width, linewidth=0, **colours[bar.colour])
        if len(ends) == 2:
            look: dict[str, Any] = {"color": style.INK, "marker": "_", "markersize": 4, "linewidth": 0.9}
            intervals.line(axes, [x, x], [max(0.0, ends[0]), ends[1]], **look)
        elif ends and bar.value is None:
            axes.plot([x], ends, color=style.INK, marker="^" if bar.low is not None else "v", markersize=5)
    tops = [top for bar in bars if (top := bar.value if bar.value is not None else bar.high or bar.low) is not None]
    reach = [bar.high for bar in bars if bar.high is not None]
    if tops and max(tops) > 30 * min(tops) > 0:
        style.plain_scale(axes, "y", [*tops, *reach], log=True)
        axes.set_ylim(bottom=min(tops) / 2)
    else:
        highest = max(tops, default=0.0)
        axes.set_ylim(0, 1.06 * max(highest, min(max(reach, default=0.0), 1.6 * highest)) or 1.0)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.grid(axis="x", visible=False)
