"""The look that all figures share: one palette, quiet axes, plain numbers, files that are the same every time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from fontTools import subset
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator
from PIL import Image

from loadstone.report.figures import texts
from loadstone.report.figures.look import COLUMN, USUAL, Look

INK, QUIET, GRID = "#1f2933", "#66727f", "#dfe3e8"
PALE = "#9aa7b4"
"""The colour of trials that count for less than others."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito, "Color universal design" (2008), without black and yellow, which vanish on one background or other."""

VERDICTS: dict[str, dict[str, Any]] = {
    "held": {"marker": "o", "s": 26},
    "not held": {"marker": "x", "s": 34, "linewidths": 1.7},
    "measured": {"marker": "s", "s": 24},
    "invalid": {"marker": "^", "s": 30, "linewidths": 1.0},
}
"""Shapes distinguish verdicts without colour."""
_CODES = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO]
_ARROW = Path([(0, 0), (0, 2), (-0.6, 1.2), (0, 2), (0.6, 1.2)], _CODES)
_ARROW_AROUND_ITS_MIDDLE = Path([(0, -1), (0, 1), (-0.6, 0.2), (0, 1), (0.6, 0.2)], _CODES)
_BROKE: dict[str, Any] = {"marker": _ARROW, "s": 700, "facecolors": "none", "linewidths": 1.3}
REACH = 3.0
"""How far an arrow from a lower bound reaches, at most, on a logarithmic axis."""
BROKE, SLOWER = "broke and was stopped", "slower: too few answered"

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a name with a dollar sign is a name
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.borderaxespad": 0,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.dpi": 72,  # of a figure's SVG and PDF: it is laid out for them
    "svg.fonttype": "none",
    "svg.hashsalt": "loadstone",
    "pdf.fonttype": 42,
}
PNG_DPI = 144
HEIGHT = 3.5
"""Inches, of a single panel."""
_SEVERAL = 2.9
"""The height of each of several panels."""
_NARROWEST = 1.85
"""Inches of a panel: of what is narrower fewer stand side by side."""
_GAP = 0.33
"""Inches between the columns of a page."""


@contextmanager
def styled(look: Look = USUAL) -> Iterator[None]:
    """Draw and save inside this, whatever the user's own matplotlib settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC | {"figure.figsize": (look.width, HEIGHT)} | look.settings)
        yield


def width() -> float:
    """The width of a figure, in inches."""
    return float(matplotlib.rcParams["figure.figsize"][0])


def wide() -> float:
    """The width of a figure that spans the page, in inches: for narrow figures, of two columns with their gap."""
    return 2 * width() + _GAP if width() < COLUMN else 1.6 * width()


def panels(
    titles: Sequence[str], columns: int, height: float | None = None, wide: float | None = None, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per title, at most ``columns`` side by side; a single panel needs no title.

    ``wide`` is its width in inches where it is not the usual one.
    """
    height, across = height or (HEIGHT if len(titles) == 1 else _SEVERAL), wide or width()
    columns = max(1, min(columns, len(titles), int(across / _NARROWEST)))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(across, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    axes = list(grid.flat)
    for spare in axes[len(titles) :]:
        spare.remove()
    used = axes[: len(titles)]
    if len(titles) > 1:
        for panel, title in zip(used, titles, strict=True):
            panel.set_title(title)
            panel.tick_params(labelbottom=True)  # also where the panel below is missing
    return figure, used


def _ticks(span: float) -> Locator:
    """Ticks of a logarithmic axis for values from one to ``span``: at least two, and no more than there is room for."""
    if span < 2:
        return MaxNLocator(5)
    return LogLocator(subs=(1,) if span > 300 else (1, 2, 5) if span > 4 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8))


def plain_scale(axes: Axes, which: str, values: Iterable[float | None], log: bool | None = None) -> None:
    """Ticks as plain numbers; logarithmic if ``log``, or if the values span more than a factor of five."""
    positive = [value for value in values if value and value > 0]
    span = max(positive) / min(positive) if positive else 1.0
    axis = {"x": axes.xaxis, "y": axes.yaxis}[which]
    if span > 5 if log is None else log:
        {"x": axes.set_xscale, "y": axes.set_yscale}[which]("log")
        axis.set_major_locator(_ticks(span))
        axis.set_minor_locator(NullLocator())
    else:
        counted = all(float(value).is_integer() for value in positive)
        axis.set_major_locator(MaxNLocator(6, integer=counted))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def legend(figure: Figure, handles: Sequence[Any]) -> None:
    """Above the panels, where it can hide nothing; read row by row, while matplotlib fills column by column.

    As many columns as there is room for; the figure becomes higher by what they take.
    """
    if not handles:
        return
    room = figure.get_figwidth() - 0.1
    labels = texts.shortened([handle.get_label() for handle in handles], room - texts.HANDLE, "legend.fontsize")
    for handle, label in zip(handles, labels, strict=True):
        handle.set_label(texts.wrapped(label, room - texts.HANDLE, "legend.fontsize"))
    columns = texts.columns([handle.get_label() for handle in handles], room, most=5)
    by_column = [handle for column in range(columns) for handle in handles[column::columns]]
    lines = -(-len(handles) // columns) - 1
    figure.set_figheight(figure.get_figheight() + lines * 1.5 * texts.size("legend.fontsize") / 72)
    figure.legend(handles=by_column, loc="outside upper left", ncols=columns)


def verdict_handles(present: set[str]) -> list[Line2D]:
    """Legend entries of the verdicts that occur."""
    handles = []
    for verdict, look in VERDICTS.items():
        if verdict in present:
            face = "none" if verdict == "invalid" else QUIET
            handles.append(
                Line2D([], [], linestyle="", marker=look["marker"], color=QUIET, markerfacecolor=face, label=verdict)
            )
    return handles


def scatter(axes: Axes, points: Sequence[tuple[float, float]], verdict: str, colour: str, small: bool = False) -> None:
    """Trials as markers of their verdict; invalid ones are grey and hollow."""
    if not points:
        return
    x, y = zip(*points, strict=True)
    look = VERDICTS[verdict] | ({"s": 0.4 * VERDICTS[verdict]["s"], "linewidths": 0.9} if small else {})
    if verdict == "invalid":
        axes.scatter(x, y, facecolors="none", edgecolors=QUIET, zorder=2, **look)
    elif verdict == "held":
        axes.scatter(x, y, color=colour, alpha=0.5 if small else 0.85, zorder=3, **{**look, "linewidths": 0})
    else:
        axes.scatter(x, y, color=colour, zorder=3, **look)


def broken(axes: Axes, loads: Sequence[float], colour: str) -> None:
    """Trials that broke and were stopped: an arrow on the axis of loads, for they have no value on the other."""
    places = axes.get_xaxis_transform()
    if loads:
        axes.scatter(loads, [0.0] * len(loads), transform=places, color=colour, clip_on=False, zorder=4, **_BROKE)
        # What has no value on the other axis does not widen this one by itself.
        axes.update_datalim([(load, 0.0) for load in loads], updatey=False)
        axes.autoscale_view(scaley=False)


def bounded(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """Trials of whose value only a lower bound is known: an arrow that begins there, on a logarithmic axis."""
    if points:
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, color=colour, zorder=4, **_BROKE)
        axes.update_datalim([(load, REACH * bound) for load, bound in points])  # room for the whole arrow


def arrow_handle(label: str) -> Line2D:
    """The legend entry of arrows."""
    return Line2D(
        [],
        [],
        linestyle="",
        marker=_ARROW_AROUND_ITS_MIDDLE,
        markersize=9,
        color=QUIET,
        markerfacecolor="none",
        label=label,
    )


def save(figure: Figure, kind: str) -> bytes:
    """The figure as ``svg``, ``pdf`` or ``png``: the same bytes for the same data; ``settle`` it before."""
    if kind == "png":
        return _png(figure)
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}}[kind]
    buffer = BytesIO()
    with _fonts_without_layout():
        figure.savefig(buffer, format=kind, metadata={"Creator": "Loadstone", **dates})
    return _shorter(buffer.getvalue()) if kind == "svg" else buffer.getvalue()


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """Embed fonts without their tables of ligatures and kerning, which take most of the time and which no PDF reads:
    it has the position of each glyph. matplotlib has no option for it."""
    dropped = subset.Options._drop_tables_default
    subset.Options._drop_tables_default = [*dropped, "GSUB", "GPOS", "GDEF", "kern", "MATH"]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = dropped


def known(value: float | None) -> float:
    """NaN for None: it is not drawn."""
    return math.nan if value is None else value


def settle(figure: Figure) -> None:
    """Lay it out, once: to find the places of all texts takes longer than to write a file with them.

    Without a layout engine it is not done again before each file.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        texts.shorten(figure)
        engine.execute(figure)
        if texts.settle(figure):
            engine.execute(figure)
        figure.set_layout_engine()


def _shorter(svg: bytes) -> bytes:
    """A third of the size where there are thousands of markers: places to a hundredth of a point, each style once, as a
    class, and no rotations by zero."""
    svg = _PLACES.sub(lambda found: _DIGITS.sub(rb"\1", found[0]).replace(b" \n", b" "), svg)
    names = {name: b"m%d" % place for place, name in enumerate(dict.fromkeys(_MARKER.findall(svg)))}
    svg = _MARKER.sub(lambda found: names[found[0]], svg)
    svg = _ALIKE.sub(_grouped, _UNTURNED.sub(b"", svg))
    svg = _FAMILY.sub(rb"font-family: \1, sans-serif", svg)
    looks: dict[bytes, int] = {}
    svg = _LOOK.sub(lambda found: b' class="k%d"' % looks.setdefault(found[1], len(looks)), svg)
    rules = b"".join(b".k%d{%s}" % (place, look) for look, place in looks.items())
    return svg.replace(b"</style>", rules + b"</style>", 1)


def _grouped(found: re.Match[bytes]) -> bytes:
    """Markers of one look as a group that has it."""
    style = found[2]
    return b'\n<g style="%s">%s\n</g>' % (style, found[0].replace(b' style="%s"' % style, b"").replace(b"     ", b""))


_FAMILY = re.compile(rb"font-family: ('[^;\"]*')")
_PLACES = re.compile(rb'\b(?:d|x|y)="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")
_UNTURNED = re.compile(rb' transform="rotate\(-?0 [^"]*"')
_LOOK = re.compile(rb' style="([^"]*)"')
_MARKER = re.compile(rb"\bm[0-9a-f]{10}\b")
_USE = rb'\s*<use xlink:href="%s" x="[^"]*" y="[^"]*" style="%s"/>'
_ALIKE = re.compile(_USE % (rb"(#\w+)", rb'([^"]*)') + rb"(?:" + _USE % (rb"\1", rb"\2") + rb")+")


def _png(figure: Figure) -> bytes:
    """With a palette, which a figure's few colours and their edges fit into: a third of the size."""
    pixels, buffer = BytesIO(), BytesIO()
    figure.savefig(pixels, format="rgba", dpi=PNG_DPI, facecolor="white")
    width, height = (int(inches * PNG_DPI) for inches in figure.get_size_inches())
    image = Image.frombytes("RGBA", (width, height), pixels.getvalue()).convert("RGB")
    palette = image.quantize(64, method=Image.Quantize.FASTOCTREE)
    palette.save(buffer, format="png", optimize=True, dpi=(PNG_DPI, PNG_DPI))
    return buffer.getvalue()
