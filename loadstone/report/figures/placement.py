"""Placements beside each other: latency, throughput, C-states, power and traffic, a bar each; capacity, a dot each."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from loadstone.analysis.metrics.power import ACTIVE
from loadstone.analysis.placement.tables import PlacementCapacity, PlacementCstate, PlacementLoad
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import intervals, loads, style
from loadstone.report.figures.load import load_label

_Placed = TypeVar("_Placed", PlacementLoad, PlacementCstate)
MOST = 12
"""Placements that are drawn: of more, the fastest half of these and the slowest."""
_MOST_LOADS = 12
_LITTLE = 0.01
"""The share of requests that a placement may drop at a load of the close view."""
_FAR = 20
"""From here the lowest bar would be no bar any more; the scale is logarithmic then."""


def latency(content: Content) -> Figure | None:
    """Mean and P99 by load, a bar for each placement with its interval."""
    rows = _loads(content, "p99_ms", "mean_ms")
    return _by_load(content, rows, [("mean_ms", "mean latency (ms)"), ("p99_ms", "P99 latency (ms)")])


def executed(content: Content) -> Figure | None:
    """Requests that were completed each second, and on them those that were dropped."""
    return _by_load(content, _loads(content, "executed_per_s"), [("executed_per_s", "requests/s")], dropped=True)


def close(content: Content) -> Figure | None:
    """The same up to the highest load at which some placement still dropped little; None where that is every load."""
    rows = _loads(content, "executed_per_s", "dropped_share")
    little = [row.load for row in rows if (row.dropped_share or 0.0) <= _LITTLE]
    near = [row for row in rows if little and row.load <= max(little)]
    if len({row.load for row in near}) == len({row.load for row in rows}):
        return None
    return _by_load(content, near, [("executed_per_s", "requests/s")], dropped=True)


def cstates(content: Content) -> Figure | None:
    """The share of time in each state, a stacked bar for each placement."""
    return _stacked(content, "share", "share of CPU time (%)", 100, active=True)


def transitions(content: Content) -> Figure | None:
    """How often a second each idle state was entered, a stacked bar for each placement."""
    return _stacked(content, "transitions_per_s", "transitions (1000/s)", 1e-3, active=False)


def power(content: Content) -> Figure | None:
    """Power of packages, and of memory where every placement has it, a stacked bar for each placement."""
    rows = _loads(content, "package_watts")
    parts = {"package": "package_watts", "DRAM": "dram_watts"}
    known = {name: column for name, column in parts.items() if all(getattr(row, column) is not None for row in rows)}
    return _by_placement(content, rows, "power (W)", {n: [(r, getattr(r, c)) for r in rows] for n, c in known.items()})


def between(content: Content) -> Figure | None:
    """Bytes between workers for each completed request."""
    rows = _loads(content, "between_bytes_per_request")
    heights = [(row, (row.between_bytes_per_request or 0.0) / 1024) for row in rows]
    return _by_placement(content, rows, "KiB per request", {"between workers": heights})


def capacity(content: Content) -> Figure | None:
    """A dot for each placement's capacity with its interval, the highest first."""
    rows = [row for row in content.rows(PlacementCapacity) if row.capacity is not None]
    if not rows:
        return None
    groups = list(dict.fromkeys(row.others for row in rows))
    height = max(1.2, 0.3 * max(sum(row.others == group for row in rows) for group in groups) + 0.8)
    figure, panels = style.panels(groups, 1, height, sharex=True)
    for axes, group in zip(panels, groups, strict=True):
        mine = sorted((row for row in rows if row.others == group), key=lambda row: row.capacity or 0.0)
        for place, row in enumerate(mine):
            ends = [style.known(row.capacity_low), style.known(row.capacity_high)]
            axes.plot(ends, [place] * 2, color=style.COLOURS[0], lw=1.6)
            axes.plot(style.known(row.capacity), place, "o", color=style.COLOURS[0], ms=5)
        axes.set_yticks(range(len(mine)), [row.placement for row in mine])
        axes.set_ylim(-0.6, len(mine) - 0.4)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("capacity (requests/s), 95 % interval")
    return figure


def drawn(rows: Sequence[PlacementLoad]) -> list[str]:
    """The placements that figures show, in the order of the study."""
    names = list(dict.fromkeys(row.placement for row in rows))
    if len(names) <= MOST:
        return names
    p99 = {name: [row.p99_ms for row in rows if row.placement == name] for name in names}
    slowest = {name: max(inf if value is None else value for value in values) for name, values in p99.items()}
    ranked = sorted(names, key=lambda name: slowest[name])
    kept = {*ranked[: MOST // 2], *ranked[-MOST // 2 :]}
    return [name for name in names if name in kept]


def _loads(content: Content, *needed: str) -> list[PlacementLoad]:
    rows = content.rows(PlacementLoad)
    shown = drawn(rows)
    return [row for row in rows if row.placement in shown and all(getattr(row, name) is not None for name in needed)]


def _by_load(
    content: Content, rows: Sequence[PlacementLoad], quantities: Sequence[tuple[str, str]], dropped: bool = False
) -> Figure | None:
    """A panel for each quantity and combination of other factors: a group of bars a load, a bar a placement."""
    if not rows:
        return None
    groups = list(dict.fromkeys(row.others for row in rows))
    titles = [" · ".join(filter(None, (group, label))) for group in groups for _, label in quantities]
    figure, panels = style.panels(titles, 1, 2.5, style.wide(), sharex=False)
    looks = _looks(rows)
    each = iter(panels)
    for group in groups:
        mine = [row for row in rows if row.others == group]
        at = loads.shown((row.load for row in mine), _MOST_LOADS)
        for column, label in quantities:
            axes = next(each)
            _grouped(axes, mine, at, column, looks, dropped)
            axes.set_ylabel(label)
            axes.set_xlabel(load_label(content))
    handles = [Patch(label=name, linewidth=0, **look) for name, look in looks.items()]
    hollow = [Patch(label="dropped", facecolor="none", edgecolor=style.INK, linewidth=0.8)] if dropped else []
    style.legend(figure, [*handles, *hollow])
    return figure


def _grouped(
    axes: Axes,
    rows: Sequence[PlacementLoad],
    at: Sequence[float],
    column: str,
    looks: dict[str, Any],
    dropped: bool,
) -> None:
    width = 0.84 / len(looks)
    for place, (name, look) in enumerate(looks.items()):
        mine = {row.load: row for row in rows if row.placement == name and row.load in at}
        x = [at.index(load) + (place - (len(looks) - 1) / 2) * width for load in mine]
        heights = [getattr(row, column) for row in mine.values()]
        axes.bar(x, heights, width=0.92 * width, linewidth=0, **look)
        for middle, row in zip(x, mine.values(), strict=True):
            low, high = getattr(row, f"{column}_low"), getattr(row, f"{column}_high")
            if low is not None and high is not None and not dropped:
                intervals.line(axes, [middle, middle], [max(low, 0), high], color=style.INK, linewidth=0.8)
        if dropped:
            lost = [row.dropped_per_s or 0.0 for row in mine.values()]
            axes.bar(x, lost, bottom=heights, width=0.92 * width, fill=False, edgecolor=style.INK, linewidth=0.8)
    heights = [getattr(row, column) for row in rows if row.load in at]
    highest, lowest = max(heights), min(heights)
    if not dropped and highest > _FAR * lowest > 0:
        style.plain_scale(axes, "y", heights, log=True)
        axes.set_ylim(lowest / 2, 3 * highest)
    elif not dropped:
        axes.set_ylim(0, 1.6 * highest)  # an interval of few runs is long; its end matters less than the bars
    axes.set_xticks(range(len(at)), [format.number(load) for load in at])
    axes.grid(axis="x", visible=False)


def _stacked(content: Content, column: str, label: str, scale: float, active: bool) -> Figure | None:
    every = content.rows(PlacementCstate)
    shown = drawn(content.rows(PlacementLoad))
    rows = [row for row in every if row.placement in shown and getattr(row, column) is not None]
    states = [state for state in dict.fromkeys(row.state for row in rows) if state != ACTIVE]
    if not states:
        return None
    names = [ACTIVE, *states] if active else states
    parts = {name: [(row, scale * getattr(row, column)) for row in rows if row.state == name] for name in names}
    colours = loads.looks([ACTIVE, *states], first=1)
    return _by_placement(content, rows, label, parts, {name: colours[name] for name in names})


def _by_placement(
    content: Content,
    rows: Sequence[_Placed],
    label: str,
    parts: dict[str, list[tuple[_Placed, float]]],
    looks: dict[str, Any] | None = None,
) -> Figure | None:
    """A panel for some loads of each combination of other factors: a bar a placement, of parts on each other."""
    if not rows or not parts:
        return None
    looks = looks or loads.looks(list(parts))
    groups = list(dict.fromkeys(row.others for row in rows))
    at = [
        (group, load)
        for group in groups
        for load in loads.shown((row.load for row in rows if row.others == group), _MOST_LOADS)
    ]
    unit = "clients" if content.closed else "req/s"
    titles = [" · ".join(filter(None, (group, f"{format.number(load)} {unit}"))) for group, load in at]
    columns = 3 if len(at) % 2 else 2  # no half-empty row of three
    figure, panels = style.panels(titles, columns, 2.6, style.wide(), sharey=True)
    for axes, (group, load) in zip(panels, at, strict=True):
        heights = {
            name: {row.placement: value for row, value in values if row.others == group and row.load == load}
            for name, values in parts.items()
        }
        placements = [
            name
            for name in dict.fromkeys(row.placement for row in rows)
            if any(name in some for some in heights.values())
        ]
        bottom = [0.0] * len(placements)
        for name, some in heights.items():
            mine = [some.get(placement, 0.0) for placement in placements]
            axes.bar(range(len(placements)), mine, bottom=bottom, width=0.72, linewidth=0, **looks[name])
            bottom = [below + height for below, height in zip(bottom, mine, strict=True)]
        axes.set_xticks(range(len(placements)), placements)
        if len(placements) > 4:
            axes.tick_params(axis="x", rotation=40)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(label)
    style.legend(figure, loads.handles(looks) if len(looks) > 1 else [])
    return figure


def _looks(rows: Sequence[PlacementLoad]) -> dict[str, dict[str, Any]]:
    return loads.looks(list(dict.fromkeys(row.placement for row in rows)))
