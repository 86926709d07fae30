"""C-states: where the processors' time went, and how often they went to sleep."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from matplotlib.figure import Figure

from loadstone.analysis.metrics.power import ACTIVE, CstateRow
from loadstone.report.content import Content
from loadstone.report.figures import loads, style
from loadstone.report.figures.load import load_label
from loadstone.report.figures.names import short


def residency(content: Content) -> Figure | None:
    """The share of time in each state, mean over the nodes that run replicas; C0, at work, below."""
    rows = [row for row in loads.valid(content, CstateRow, "share") if row.replicas]
    states = _states(rows)
    return _bars(content, rows, [ACTIVE, *states] if states else [], "share", 100, "share of CPU time (%)")


def transitions(content: Content) -> Figure | None:
    """How often a second each idle state was entered, mean over the nodes that run replicas."""
    rows = [row for row in loads.valid(content, CstateRow, "transitions_per_s") if row.replicas]
    return _bars(content, rows, _states(rows), "transitions_per_s", 1e-3, "transitions (1000/s)")


def _states(rows: Sequence[CstateRow]) -> list[str]:
    """In the order of the table: the shallowest first."""
    return [state for state in dict.fromkeys(row.state for row in rows) if state != ACTIVE]


def _bars(
    content: Content, rows: Sequence[CstateRow], states: Sequence[str], column: str, scale: float, label: str
) -> Figure | None:
    if not states:
        return None
    # The same state has the same colour in both figures, whether or not C0 is there.
    colours = loads.looks([ACTIVE, *(state for state in states if state != ACTIVE)], first=1)
    pairs = loads.treated(content, rows)
    figure, panels = style.panels([short(treatment) for treatment, _ in pairs], 2, sharey=True)
    for axes, (_, mine) in zip(panels, pairs, strict=True):
        at = loads.shown(row.load for row in mine)
        parts = {state: [scale * _typical(mine, state, load, column) for load in at] for state in states}
        loads.stacked(axes, at, parts, colours)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(label)
    style.legend(figure, loads.handles({state: colours[state] for state in states}))
    return figure


def _typical(rows: Sequence[CstateRow], state: str, load: float, column: str) -> float:
    """Mean over a trial's nodes, then the median over the trials of a load."""
    by_trial: dict[str, list[float]] = {}
    for row in rows:
        if row.state == state and row.load == load:
            by_trial.setdefault(row.trial_id, []).append(getattr(row, column))
    return median(mean(values) for values in by_trial.values()) if by_trial else 0.0
