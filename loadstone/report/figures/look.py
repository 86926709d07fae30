"""What a user chooses of figures: how wide they are, and their font."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib import font_manager

from loadstone.model.errors import InputError
from loadstone.model.units import Quantity

DEFAULT_FONT = "DejaVu Sans"
COLUMN = 4.5
"""Inches: a narrower figure is for one of two columns of a page."""
_LENGTH = Quantity(
    "length", {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}, "2in", "20in", ("3.33in", "84mm")
)
_SMALL = {
    **{"font.size": 8, "axes.titlesize": 8, "xtick.labelsize": 7.5, "ytick.labelsize": 7.5, "legend.fontsize": 7.5},
    **{"legend.columnspacing": 1.0, "legend.handlelength": 1.8},
}
"""For one of two columns: what is smaller is hard to read in print."""


@dataclass(frozen=True)
class Look:
    """Width of a figure in inches and its font. By default a text column, so that labels keep their size in a paper."""

    width: float = 5.8
    font: str = DEFAULT_FONT

    @property
    def settings(self) -> dict[str, Any]:
        """What they change of matplotlib's settings, besides the width."""
        families = list(dict.fromkeys((self.font, DEFAULT_FONT)))  # the second for letters that the first does not have
        return {"font.family": families} | (_SMALL if self.width < COLUMN else {})


USUAL = Look()


def chosen(width: str | None, font: str | None) -> Look:
    """The look with this width (``3.33in``, ``84mm``) and font; raises InputError for what there is not."""
    try:
        inches = USUAL.width if width is None else _LENGTH(width)
    except ValueError as error:
        raise InputError(f"--figure-width: {error}") from None
    there = sorted({entry.name for entry in font_manager.fontManager.ttflist})
    if font is not None and font not in there:
        raise InputError(f"--font {font}: matplotlib finds no such font; it has {', '.join(there)}")
    return Look(inches, font or USUAL.font)
