"""Room for texts: how wide they are, lines that fit, ticks that do not touch each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

Setting = Literal["axes.titlesize", "axes.labelsize", "legend.fontsize"]
HANDLE = 0.45
"""Inches of a legend's line or patch with the space around it."""
_APART = 3.0
"""Points between two labels of an axis."""
_TURNED = 40


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


def columns(labels: Sequence[str], room: float, most: int) -> int:
    """How many columns of a legend fit into ``room`` inches, filled row by row."""
    gap = matplotlib.rcParams["legend.columnspacing"] * size("legend.fontsize") / 72
    widths = [HANDLE + inches(label, "legend.fontsize") for label in labels]
    for count in range(min(len(labels), most), 1, -1):
        if sum(max(widths[column::count]) for column in range(count)) + gap * (count - 1) <= room:
            return count
    return 1


def settle(figure: Figure) -> bool:
    """Wrap titles and labels that are longer than their panel, and turn or thin ticks that touch each other.

    Returns whether any changed: the figure has to be laid out again then.
    """
    changed = [_settled(axes) for axes in figure.axes]  # all of them, not only up to the first
    return any(changed)


def _settled(axes: Axes) -> bool:
    box = axes.get_window_extent()
    changed = [_shorter(axes.xaxis, box.width / 72), _shorter(axes.yaxis, box.height / 72)]
    title = axes.get_title(loc="left")
    axes.set_title(wrapped(title, max(box.width / 72, 1.0), "axes.titlesize", bold=True), loc="left")
    changed.append(axes.get_title(loc="left") != title)
    return any([*changed, _apart(axes.xaxis, 0), _apart(axes.yaxis, 1)])


def _shorter(axis: Axis, room: float) -> bool:
    text = axis.get_label_text()
    label = wrapped(text, max(room, 1.0) * 1.05, "axes.labelsize")
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
