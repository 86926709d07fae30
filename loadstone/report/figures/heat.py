"""Latency of the traced requests over time, as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.traced_rows import TracedHeat
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.critical import MOST_PANELS
from loadstone.report.figures.names import short

_STEPS = 20
"""Steps of latency in a decade, as its table has them."""
COLOURS = LinearSegmentedColormap.from_list("heat", [(0.0, 0.447, 0.698, 0.12), (0.0, 0.447, 0.698, 1.0)])
"""From hardly anything to the first colour: where nothing is, the page shows through, whether it is light or dark."""


def heat(content: Content) -> Figure | None:
    """Two panels a treatment: the highest load that held, and the lowest from there on that did not."""
    pairs = [
        (treatment, trial)
        for treatment, rows in loads.treated(content, content.rows(TracedHeat))[:MOST_PANELS]
        for trial in _beside(rows)
    ]
    if not pairs:
        return None
    several = len({treatment.label for treatment, _ in pairs}) > 1
    titles = [_title(treatment, rows, several) for treatment, rows in pairs]
    figure, panels = style.panels(titles, 2, 2.5 if len(pairs) > 1 else style.HEIGHT, sharey=True)
    every = [row for _, rows in pairs for row in rows]
    bottom, top = min(map(_level, every)), max(map(_level, every)) + 1
    for axes, (_, rows) in zip(panels, pairs, strict=True):
        width = rows[0].to_s - rows[0].from_s
        grid = np.full((top - bottom, round(max(row.to_s for row in rows) / width)), np.nan)
        for row in rows:
            grid[_level(row) - bottom, round(row.from_s / width)] = row.count
        share = np.sqrt(grid / np.nanmax(grid))  # by area as the eye takes it: rare slow requests stay visible
        extent = (0.0, grid.shape[1] * width, bottom, top)
        axes.imshow(share, origin="lower", aspect="auto", extent=extent, cmap=COLOURS, vmin=0, interpolation="nearest")
        axes.grid(visible=False)
        ticks = [level for level in range(bottom, top + 1) if (level - 1) % _STEPS == 0]
        axes.set_yticks(ticks, [format.number(1e-3 * 10 ** ((level - 1) / _STEPS)) for level in ticks])
        axes.set_xlabel("time (s)")
        axes.set_ylabel("latency of a trace (ms)")
    return figure


def _beside(rows: Sequence[TracedHeat]) -> list[list[TracedHeat]]:
    """The trials to show of a treatment: one or two."""
    held = max(((r.load, r.trial_id) for r in rows if r.verdict != "not held"), default=None)
    broke = [(r.load, r.trial_id) for r in rows if r.verdict == "not held"]
    above = min((trial for trial in broke if held is None or trial[0] >= held[0]), default=None)
    return [[row for row in rows if row.trial_id == trial[1]] for trial in (held, above) if trial is not None]


def _title(treatment: TreatmentSummary, rows: Sequence[TracedHeat], several: bool) -> str:
    text = f"{format.load(rows[0])}: {rows[0].verdict}"
    return f"{short(treatment)}\n{text}" if several else text


def _level(row: TracedHeat) -> int:
    """The step of latency: 0 is below 1 us."""
    return round(math.log10(row.high_ms / 1e-3) * _STEPS)
