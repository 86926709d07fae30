"""Intervals, and whether a figure shows them whole: an axis may end before a wide one does, and its caption says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

CUT = "An interval that ends at the frame of the axes goes on beyond it."
_intervals: WeakSet[Artist] = WeakSet()


def line(axes: Axes, x: Sequence[float], y: Sequence[float], **look: Any) -> None:
    """An interval as a line from end to end."""
    _intervals.update(axes.plot(x, y, **look))


def band(axes: Axes, x: Sequence[float], low: Sequence[float], high: Sequence[float], **look: Any) -> None:
    """The intervals of a curve."""
    _intervals.add(axes.fill_between(x, low, high, **look))


def noted(caption: str, figure: Figure) -> str:
    """The caption of a figure that is laid out; with a note where an interval is cut."""
    return f"{caption} {CUT}" if any(map(_cuts, figure.axes)) else caption


def _cuts(axes: Axes) -> bool:
    found = [_ends(artist) for artist in (*axes.lines, *axes.collections) if artist in _intervals]
    return any(_outside(axes, ends) for ends in found if len(ends))


def _ends(artist: Artist) -> np.ndarray[Any, np.dtype[np.float64]]:
    if isinstance(artist, Line2D):
        return np.asarray(artist.get_xydata(), np.float64)
    assert isinstance(artist, PolyCollection)
    paths = [path.vertices for path in artist.get_paths()]
    return np.concatenate(paths) if paths else np.empty((0, 2))


def _outside(axes: Axes, ends: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    for places, limits in zip(ends.T, (axes.get_xlim(), axes.get_ylim()), strict=True):
        low, high = sorted(limits)
        beyond = (places < low) & ~np.isclose(places, low) | (places > high) & ~np.isclose(places, high)
        if beyond.any():
            return True
    return False
