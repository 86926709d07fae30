"""Room for texts: how wide they are, lines that fit, ticks that do not touch each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import radians, sin
from typing import Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

from loadstone.report.figures.shortening import fitted

Setting = Literal["axes.titlesize", "axes.labelsize", "legend.fontsize", "xtick.labelsize"]
HANDLE = 0.45
"""Inches of a legend's line or patch with the space around it."""
_APART = 3.0
"""Points between two labels of an axis."""
_TURNED = 40
_MOST_LINES = 3
_ACROSS, _UP = 0.5, 0.4
"""How much of a panel's width and of its height the names of its ticks may take."""


def size(setting: Setting) -> float:
    """The font size of a setting, in points."""
    given = matplotlib.rcParams[setting]
    return float(given if isinstance(given, int | float) else matplotlib.rcParams["font.size"])


def inches(text: str, setting: Setting, bold: bool = False) -> float:
    """The width of the widest line of a text in a setting's size."""
    font = FontProperties(size=size(setting), weight="bold" if bold else "normal")
    lines = text.split("\n")
    return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in lines) / 72


def wrapped(text: str, room: float, setting: Setting, bold: bool = False) -> str:
    """The text in lines of at most ``room`` inches, broken at spaces; a longer word is cut."""
    return "\n".join(line for given in text.split("\n") for line in _broken(given, room, setting, bold))


def _broken(text: str, room: float, setting: Setting, bold: bool) -> list[str]:
    if inches(text, setting, bold) <= room:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if inches(longer, setting, bold) <= room:
            lines[-1] = longer
        else:
            lines += [_cut(word, room, setting, bold)]
    return [line for line in lines if line]


def _cut(word: str, room: float, setting: Setting, bold: bool) -> str:
    """Its beginning, as far as there is room."""
    if inches(word, setting, bold) <= room:
        return word
    while len(word) > 1 and inches(f"{word}...", setting, bold) > room:
        word = word[:-1]
    return f"{word}..."


def shortened(given: Sequence[str], room: float, setting: Setting, bold: bool = False) -> list[str]:
    """The texts; if one takes many lines of ``room`` inches, or a word of it more than one, all are shortened."""

    def fits(text: str) -> bool:
        fitting = all(inches(word, setting, bold) <= 0.9 * room for word in text.split())  # hinted ones are wider
        return fitting and wrapped(text, room, setting, bold).count("\n") < _MOST_LINES

    return fitted(given, fits)


def columns(labels: Sequence[str], room: float, most: int) -> int:
    """How many columns of a legend fit into ``room`` inches, filled row by row."""
    gap = matplotlib.rcParams["legend.columnspacing"] * size("legend.fontsize") / 72
    widths = [HANDLE + inches(label, "legend.fontsize") for label in labels]
    for count in range(min(len(labels), most), 1, -1):
        if sum(max(widths[column::count]) for column in range(count)) + gap * (count - 1) <= room:
            return count
    return 1


def shorten(figure: Figure) -> None:
    """Shorten titles and names of ticks before a figure is laid out: long ones would leave its panels no room."""
    _titles_shortened(figure)
    for axes in figure.axes:
        grid = axes.get_subplotspec()
        rows, across = grid.get_gridspec().get_geometry() if grid is not None else (1, 1)
        rooms = {
            axes.xaxis: _UP * figure.get_figheight() / rows / sin(radians(_TURNED)),
            axes.yaxis: _ACROSS * figure.get_figwidth() / across,
        }
        for axis, room in rooms.items():
            if isinstance(axis.get_major_locator(), FixedLocator):
                names = axis.get_major_formatter().format_ticks(list(axis.get_majorticklocs()))
                if (shorter := _names(names, room)) != names:
                    axis.set_ticklabels(shorter)


def _names(names: Sequence[str], room: float) -> list[str]:
    return fitted(names, lambda name: inches(name, "xtick.labelsize") <= room)


def settle(figure: Figure) -> bool:
    """Wrap titles and labels that are longer than their panel, and turn or thin ticks that touch each other.

    Returns whether any changed: the figure has to be laid out again then.
    """
    shorter = _titles_shortened(figure)
    changed = [_settled(axes) for axes in figure.axes]  # all of them, not only up to the first
    return shorter or any(changed)


def _titles_shortened(figure: Figure) -> bool:
    """Titles of all panels line by line, beside each other."""
    titles = [axes.get_title(loc="left").split("\n") for axes in figure.axes]
    room = min((max(axes.get_window_extent().width / 72, 1.0) for axes in figure.axes), default=0.0)
    changed = False
    for place in range(max(map(len, titles), default=0)):
        having = [title for title in titles if len(title) > place]
        for title, line in zip(
            having, shortened([t[place] for t in having], room, "axes.titlesize", True), strict=True
        ):
            changed |= title[place] != line
            title[place] = line
    for axes, lines in zip(figure.axes, titles, strict=True):
        axes.set_title("\n".join(lines), loc="left")
    return changed


def _settled(axes: Axes) -> bool:
    box = axes.get_window_extent()
    changed = [_shorter(axes.xaxis, box.width / 72), _shorter(axes.yaxis, box.height / 72)]
    title = axes.get_title(loc="left")
    axes.set_title(wrapped(title, max(box.width / 72, 1.0), "axes.titlesize", bold=True), loc="left")
    changed.append(axes.get_title(loc="left") != title)
    return any([*changed, _apart(axes.xaxis, 0), _apart(axes.yaxis, 1)])


def _shorter(axis: Axis, room: float) -> bool:
    text = axis.get_label_text()
    room = max(room, 1.0) * 1.05
    label = wrapped(shortened([text], room, "axes.labelsize")[0], room, "axes.labelsize")
    axis.set_label_text(label)
    return label != text


def _apart(axis: Axis, way: int) -> bool:
    """Names of an axis across are turned, names upwards are smaller; of numbers every second is left out."""
    first, last = sorted(axis.get_view_interval())
    drawn = [tick for tick in axis.get_major_ticks() if first <= tick.get_loc() <= last]
    ticks = [tick for tick in drawn if tick.label1.get_visible() and tick.label1.get_text()]
    if not _touching(ticks, way):
        return False
    if any(letter.isalpha() for tick in ticks for letter in tick.label1.get_text()):
        if way == 0:
            axis.set_tick_params(labelrotation=_TURNED)
            for tick in ticks:
                tick.label1.set(horizontalalignment="right", rotation_mode="anchor", rotation=_TURNED)
        return way == 0
    shown = ticks
    while len(shown) > 2 and _touching(shown, way):
        shown = shown[::2]
    axis.set_major_locator(FixedLocator([float(tick.get_loc()) for tick in shown]))
    return True


def _touching(ticks: Sequence[object], way: int) -> bool:
    boxes = [tick.label1.get_window_extent() for tick in ticks]  # type: ignore[attr-defined]
    ends = sorted(((box.x0, box.x1) if way == 0 else (box.y0, box.y1)) for box in boxes)
    return any(low < high + _APART * (way == 0) for (_, high), (low, _) in pairwise(ends))
