"""The critical path: its calls as an icicle, and each service's share of it against the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from loadstone.analysis.latency import beside_breaking_point
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.traced_rows import TracedPath, TracedService
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import load_label
from loadstone.report.figures.names import LINES, short

MOST_PANELS = 4
_LEAST, _DEEPEST = 0.004, 9
"""The least share of the whole, and the deepest level, that is drawn."""
_LETTER = 0.0693
"""Inches."""
_JOIN = " > "


def highest_held(content: Content) -> list[tuple[TreatmentSummary, list[TracedPath]]]:
    """By treatment the paths of its highest trial that held, else of the lowest with any; at most four treatments."""
    found = []
    for treatment, rows in loads.treated(content, content.rows(TracedPath)):
        there = {row.trial_id: row.load for row in rows}
        held = [row.trial_id for row in beside_breaking_point(treatment) if row.verdict != "not held"]
        trial = next((t for t in held if t in there), min(there, key=lambda t: there[t]))
        found.append((treatment, [row for row in rows if row.trial_id == trial]))
    return found[:MOST_PANELS]


def flame(content: Content) -> Figure | None:
    """Critical time by call path, the entries on top and the calls that they make below them."""
    pairs = highest_held(content)
    if not pairs:
        return None
    deepest = max(min(max(row.depth for row in rows), _DEEPEST) for _, rows in pairs)
    titles = [short(treatment) for treatment, _ in pairs]
    figure, panels = style.panels(titles, 1, 0.62 + 0.27 * deepest, 1.2 * style.wide())
    services = _services(content)
    for axes, (_, rows) in zip(panels, pairs, strict=True):
        below, total = _inclusive(rows)
        _draw(axes, below, total, services)
        axes.set_xlim(0, 100)
        axes.set_ylim(deepest - 0.5, -0.55)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.set_xlabel(f"share of the critical path at {format.load(rows[0])} (%)")
    drawn = {_service(step) for _, rows in pairs for row in rows for step in row.path.split(_JOIN)}
    named = services | ({"other services": style.QUIET} if drawn - services.keys() else {})
    style.legend(figure, [Patch(color=colour, alpha=0.4, label=name) for name, colour in named.items()])
    return figure


def _service(step: str) -> str:
    """The service of a step of a path: ``frontend`` of ``frontend GET /``, ``cache`` of ``to cache``."""
    return step.removeprefix("to ").split(" ")[0]


def _services(content: Content) -> dict[str, str]:
    """A colour for each service, by its share anywhere; what comes after the sixth is grey."""
    names = loads.most(content.rows(TracedService), "service", "critical_share", len(style.COLOURS))
    return dict(zip(names, style.COLOURS, strict=False))


def _inclusive(rows: Sequence[TracedPath]) -> tuple[dict[tuple[str, ...], float], float]:
    """Critical time of each path with all that it calls, and of everything."""
    below: dict[tuple[str, ...], float] = {}
    for row in rows:
        steps = tuple(row.path.split(_JOIN))
        for depth in range(1, len(steps) + 1):
            below[steps[:depth]] = below.get(steps[:depth], 0.0) + row.critical_s
    return below, sum(row.critical_s for row in rows) or 1.0


def _draw(axes: Axes, below: dict[tuple[str, ...], float], total: float, colours: dict[str, str]) -> None:
    place: dict[tuple[str, ...], float] = {(): 0.0}
    for path in sorted(below, key=lambda path: (len(path), -below[path])):
        width = below[path] / total
        left = place.get(path[:-1])
        if left is None or width < _LEAST or len(path) > _DEEPEST:
            continue
        place[path] = left
        place[path[:-1]] = left + width
        colour = colours.get(_service(path[-1]), style.QUIET)
        weak = path[-1].startswith("to ")  # on the network and in queues, not in a service
        depth = len(path) - 1
        alpha = 0.12 if weak else 0.3
        axes.barh(depth, 100 * width, left=100 * left, height=0.92, color=colour, alpha=alpha, linewidth=0)
        axes.barh(depth, 100 * width, left=100 * left, height=0.92, fill=False, edgecolor=colour, linewidth=0.7)
        if text := _fitting(path[-1], width * 1.2 * style.wide()):
            axes.annotate(text, (100 * left, depth), (3, 0), textcoords="offset points", va="center", fontsize=7)


def _fitting(name: str, inches: float) -> str:
    """As much of the name as has room; nothing where that is less than three letters."""
    letters = int((inches - 0.044) / _LETTER)
    return name if len(name) <= letters else f"{name[: letters - 1]}…" if letters >= 4 else ""


def shares(content: Content) -> Figure | None:
    """Each service's share of the critical path against the load; the one that grows most is drawn strongly."""
    rows = content.rows(TracedService)
    pairs = [(treatment, _shared(mine)) for treatment, mine in loads.treated(content, rows)]
    pairs = [(treatment, mine) for treatment, mine in pairs if len({row.load for row in mine}) > 1]
    if not pairs:
        return None
    names = loads.most([row for _, mine in pairs for row in mine], "service", "share", len(style.COLOURS))
    figure, panels = style.panels([short(treatment) for treatment, _ in pairs], 2, sharex=True, sharey=True)
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        grown = _gains(mine)
        for index, name in enumerate(names):
            points = loads.medians([row for row in mine if row.service == name], "share")
            strong = grown[0] == name
            look: dict[str, Any] = {"color": style.COLOURS[index], "linestyle": LINES[index], "marker": "o"}
            axes.plot(*zip(*points, strict=True), linewidth=2.6 if strong else 1.3, markersize=3.5, **look)
        if grown[2] - grown[1] >= 1:
            text = f"{grown[0]} {grown[1]:.0f} → {grown[2]:.0f} %"
            axes.annotate(text, (0.02, 0.97), xycoords="axes fraction", va="top", fontsize=8, weight="bold")
        axes.margins(y=0.15)
        style.plain_scale(axes, "x", [row.load for row in rows], log=False)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel("share of the critical path (%)")
    panels[0].set_ylim(bottom=0)  # shared, so only when all is drawn
    handles = [Line2D([], [], color=style.COLOURS[i], linestyle=LINES[i], label=name) for i, name in enumerate(names)]
    style.legend(figure, handles)
    return figure


@dataclass(frozen=True)
class _Share:
    """A service's share, %, of a trial's critical path: its own time and that on the way to it; 0 for none."""

    trial_id: str
    load: float
    service: str
    share: float


def _shared(rows: Sequence[TracedService]) -> list[_Share]:
    whole: dict[str, float] = {}
    for row in rows:
        whole[row.trial_id] = whole.get(row.trial_id, 0.0) + row.critical_s
    found = {(row.trial_id, row.service): row for row in rows}
    loads_of = {row.trial_id: row.load for row in rows}
    shares = []
    for service in dict.fromkeys(row.service for row in rows):
        for trial, load in loads_of.items():
            there = found.get((trial, service))
            spent = there.critical_s - there.network_s + there.waited_s if there else 0.0
            share = 100 * spent / (whole[trial] or 1.0)
            shares.append(_Share(trial, load, service, share))
    return shares


def _gains(rows: Sequence[_Share]) -> tuple[str, float, float]:
    """The service whose share grows most from the lowest load to the highest, and its shares there."""
    ends = []
    for service in dict.fromkeys(row.service for row in rows):
        points = loads.medians([row for row in rows if row.service == service], "share")
        ends.append((service, points[0][1], points[-1][1]))
    return max(ends, key=lambda end: end[2] - end[1])
