"""Where the labels of a figure are: which lie on each other, and which are cut at its edge."""

from __future__ import annotations

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

_SLACK = 1.0
"""Points by which boxes may overlap: they are a little larger than their letters."""


def faults(figure: Figure) -> list[str]:
    """What is wrong with the texts of a figure that is laid out: ``"a" on "b"``, ``"c" is cut``."""
    figure.draw_without_rendering()  # a legend's texts have their places only then
    texts = [(text.get_text(), text.get_rotation(), text.get_window_extent()) for text in drawn(figure)]
    found = [
        f"{text!r} is cut"
        for text, _, box in texts
        if min(box.x0, box.y0, figure.bbox.x1 - box.x1, figure.bbox.y1 - box.y1) < -_SLACK
    ]
    for (a, turned, first), (b, other, second) in combinations(texts, 2):
        # The boxes of turned texts are mostly empty; the pipeline turns neighbours only, which lie beside each other.
        if turned % 90 == 0 and other % 90 == 0 and _overlap(first, second):
            found.append(f"{a!r} on {b!r}")
    return found


def drawn(figure: Figure) -> list[Text]:
    """All texts that are seen: ticks beyond the ends of an axis are not."""
    hidden: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high:
                    hidden |= {tick.label1, tick.label2}
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text not in hidden]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def _overlap(first: Bbox, second: Bbox) -> bool:
    across = min(first.x1, second.x1) - max(first.x0, second.x0)
    return across > _SLACK and min(first.y1, second.y1) - max(first.y0, second.y0) > _SLACK
