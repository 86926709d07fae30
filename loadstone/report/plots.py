"""Small line plots written as SVG by hand: the pages of five hundred trials need them in seconds and in kilobytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup, escape

from loadstone.report import format

WIDTH, HEIGHT = 520, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 508, 14, 222
Point = tuple[float, float]
Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Axis:
    """An axis: label, limits, and ticks with their labels."""

    title: str
    low: float
    high: float
    ticks: Ticks
    scale: Callable[[float], float] = float
    """Brings a value to where it is drawn: ``math.log10`` for a logarithmic axis."""

    def place(self, value: float, start: float, end: float) -> float:
        """Where a value is drawn between ``start`` and ``end``; what lies beyond the axis, at its end."""
        low, high = self.scale(self.low), self.scale(self.high)
        share = (self.scale(min(max(value, self.low), self.high)) - low) / (high - low or 1.0)
        return start + share * (end - start)


@dataclass(frozen=True)
class PlotLine:
    """Points joined by a line, or as dots: ``style`` is ``line``, ``dashed``, or a verdict's shape."""

    name: str
    points: Sequence[Point]
    colour: int = 0
    style: str = "line"


@dataclass(frozen=True)
class Mark:
    """A marked level of x or of y, with its label."""

    text: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class SvgPlot:
    """A whole plot; ``label`` describes it for screen readers."""

    label: str
    x: Axis
    y: Axis
    lines: Sequence[PlotLine]
    marks: Sequence[Mark] = field(default=())

    def svg(self) -> Markup:
        """The element, in the colours of the page."""
        parts = [*self._axes(), *(part for mark in self.marks for part in self._mark(mark))]
        parts += [part for line in self.lines for part in self._line(line)]
        parts += self._legend()
        head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="plot" role="img" aria-label="{escape(self.label)}">'
        return Markup(head + "".join(parts) + "</svg>")

    def _at(self, point: Point) -> tuple[str, str]:
        return _number(self.x.place(point[0], _LEFT, _RIGHT)), _number(self.y.place(point[1], _BOTTOM, _TOP + 18))

    def _axes(self) -> Iterable[str]:
        across, up, top = (_LEFT + _RIGHT) / 2, (_TOP + 18 + _BOTTOM) / 2, _TOP + 18
        at_x = [(_number(self.x.place(value, _LEFT, _RIGHT)), text) for value, text in self.x.ticks]
        at_y = [(self.y.place(value, _BOTTOM, top), text) for value, text in self.y.ticks]
        grid = [f"M{x} {_BOTTOM}V{top}" for x, _ in at_x] + [f"M{_LEFT} {_number(y)}H{_RIGHT}" for y, _ in at_y]
        yield f'<path class="g" d="{"".join(grid)}"/><g class="x" transform="translate(0 {_BOTTOM + 15})">'
        yield from (f'<text x="{x}">{escape(text)}</text>' for x, text in at_x)
        yield f'<text x="{across:g}" y="19">{escape(self.x.title)}</text></g>'
        yield f'<g class="x"><text transform="translate(13 {up:g}) rotate(-90)">{escape(self.y.title)}</text></g>'
        yield f'<g class="y" transform="translate({_LEFT - 6} 4)">'
        yield from (f'<text y="{_number(y)}">{escape(text)}</text>' for y, text in at_y)
        yield "</g>"

    def _mark(self, mark: Mark) -> Iterable[str]:
        if mark.x is not None:
            x = _number(self.x.place(mark.x, _LEFT, _RIGHT))
            yield f'<path class="m" d="M{x} {_BOTTOM}V{_TOP + 18}"/>'
            left = float(x) > (_LEFT + _RIGHT) / 2  # where there is room for it
            side = 'dx="-4" text-anchor="end"' if left else 'dx="4"'
            yield f'<text x="{x}" {side} y="{_TOP + 30}">{escape(mark.text)}</text>'
        if mark.y is not None:
            y = _number(self.y.place(mark.y, _BOTTOM, _TOP + 18))
            yield f'<path class="m" d="M{_LEFT} {y}H{_RIGHT}"/>'
            yield f'<text x="{_LEFT + 4}" y="{y}" dy="-4">{escape(mark.text)}</text>'

    def _line(self, line: PlotLine) -> Iterable[str]:
        places = [self._at(point) for point in line.points]
        if not places:
            return
        if line.style in ("line", "dashed"):
            path = _path(places)
            yield f'<path class="l s{line.colour} {line.style}" d="{path}"/>'
        else:
            path = "".join(f"M{x} {y}{_SHAPES[line.style]}" for x, y in places)
            yield f'<path class="d s{line.colour} {line.style}" d="{path}"/>'

    def _legend(self) -> Iterable[str]:
        left = float(_LEFT)
        named = [line for line in self.lines if line.name] if len(self.lines) > 1 else []
        for line in named:
            drawn = line.style in ("line", "dashed")
            kind, path = ("l", f"M{left:g} {_TOP - 4}h22") if drawn else ("d", f"M{left + 11:g} {_TOP - 4}")
            yield f'<path class="{kind} s{line.colour} {line.style}" d="{path}{_SHAPES.get(line.style, "")}"/>'
            yield f'<text x="{left + 27:g}" y="{_TOP}">{escape(line.name)}</text>'
            left += 40 + 6.2 * len(line.name)


_SHAPES = {
    "held": "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "measured": "m-3-3h6v6h-6z",
    "not-held": "m-3-3l6 6m0-6l-6 6",
    "invalid": "m-3.5 3h7l-3.5-6z",
    "broke": "m0-1v-10m-3 3l3-3l3 3",
}
"""The shapes of the verdicts, as in the figures, and of what broke and was stopped: an arrow on the axis."""


def _path(places: Sequence[tuple[str, str]]) -> str:
    """Each point from the one before, x to whole units: half as long."""
    points = [(round(float(x)), float(y)) for x, y in places]
    steps = " ".join(f"{x - x0} {_short(y - y0)}" for (x0, y0), (x, y) in pairwise(points))
    return f"M{points[0][0]} {places[0][1]}" + (f"l{steps}".replace(" -", "-") if steps else "")


def _short(value: float) -> str:
    """Without the zero before the point."""
    return _number(value).replace("0.", ".") if abs(value) < 1 else _number(value)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def linear(title: str, values: Iterable[float], zero: bool = True) -> Axis:
    """An axis over the values, from zero if ``zero``, with round ticks."""
    known = list(values) or [0.0]
    low, high = (min(0.0, *known) if zero else min(known)), max(known)
    high = high if high > low else low + 1
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next((by for by in (1, 2, 5, 10) if (high - low) / (by * step) <= 5), 10)
    first = math.ceil(low / step)
    ticks = [(n * step, format.number(n * step)) for n in range(first, math.floor(high / step + 1e-9) + 1)]
    return Axis(title, low, high, ticks)


def logarithmic(title: str, values: Iterable[float]) -> Axis:
    """An axis over the positive values, ticks at 1, 2 and 5 of each decade, at 1 where there are many."""
    known = [value for value in values if value > 0] or [1.0]
    low, high = min(known), max(known)
    if high < 2 * low:
        low, high = low / 1.5, high * 1.5
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [by * 10.0**decade for decade in decades for by in ((1, 2, 5) if len(decades) <= 4 else (1,))]
    return Axis(title, low, high, [(v, format.number(v)) for v in every if low <= v <= high], math.log10)


_NINES = (50, 90, 99, 99.9, 99.99, 99.999)


def nines(title: str, highest: float) -> Axis:
    """An axis of percentiles, on which every further nine has the same room."""
    high = min(max(highest, 90.0), 99.9999)
    ticks = [(value, f"{value:g}") for value in (0, *_NINES) if value <= high]
    return Axis(title, 0.0, high, ticks, lambda percentile: -math.log10(1 - percentile / 100))
