"""Virtual machines from both sides: what their host counted of them, beside what they counted themselves."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from textwrap import fill
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from loadstone.analysis.metrics.guests import GuestRow
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.names import short

MOST = 12
"""Guests of treatments that are drawn; all stand in the table."""
_PANELS = {
    "CPU (cores)": ("host_cores", "guest_cores", 1.0),
    "memory (GiB)": ("host_memory_bytes", "guest_memory_bytes", 2.0**30),
    "context switches (1,000/s)": ("host_switches_per_s", "guest_switches_per_s", 1000.0),
}
"""By title the columns of both sides, and what they are divided by."""
_SIDES = ("its host", "the guest")
_BAR = 0.36
_LABEL = 22
"""Characters in a line of a name."""


class _Guest(NamedTuple):
    """One guest of a treatment, in its trials at the highest load."""

    name: str
    rows: list[GuestRow]


def both_sides(content: Content) -> Figure | None:
    """One panel a quantity, for each guest a bar of its host's count and one of its own: medians over trials."""
    found = list(_guests(content))[:MOST]
    if not found:
        return None
    height = 1.1 + 0.42 * len(found)
    figure, panels = style.panels(list(_PANELS), 3, height, style.wide(), sharey=True)
    for axes, (host, guest, unit) in zip(panels, _PANELS.values(), strict=True):
        for place, each in enumerate(found):
            for side, column in enumerate((host, guest)):
                values = [value / unit for row in each.rows if (value := getattr(row, column)) is not None]
                if values:
                    y = place + (side - 0.5) * _BAR
                    axes.barh(y, median(values), _BAR, color=style.COLOURS[side], linewidth=0)
        axes.set_yticks(range(len(found)), [fill(each.name, _LABEL) for each in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.locator_params(axis="x", nbins=4)
    style.legend(figure, [Patch(color=style.COLOURS[side], label=label) for side, label in enumerate(_SIDES)])
    return figure


def _guests(content: Content) -> Iterator[_Guest]:
    pairs = loads.treated(content, loads.valid(content, GuestRow))
    for treatment, rows in pairs:
        highest = max(row.load for row in rows)
        for node in dict.fromkeys(row.node for row in rows):
            name = f"{short(treatment)}, {node}" if len(pairs) > 1 else node
            yield _Guest(name, [row for row in rows if (row.node, row.load) == (node, highest)])
