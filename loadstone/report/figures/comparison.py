"""Differences with their intervals: by endpoint, by percentile, by delay put in, and of breaking points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from loadstone.analysis.comparison.calibration import CalibrationRow
from loadstone.analysis.comparison.measured import ALL
from loadstone.analysis.comparison.tables import AGAIN, CapacityRow, EffectRow, NoiseRow, ShiftRow
from loadstone.analysis.grouping import grouped
from loadstone.report import comparison_sentences as sentences
from loadstone.report.content import Content
from loadstone.report.figures import intervals, style, texts
from loadstone.report.figures.shortening import fitted

MOST = 6
"""Comparisons that are drawn; all stand in the table."""
_MOST_ROWS = 24
_NAMES = 0.4
"""How much of the width the name of a treatment may take."""
_COLOURS = {
    "slower": style.COLOURS[1],
    "faster": style.COLOURS[2],
    "equal": style.COLOURS[0],
    "cannot tell": style.QUIET,
}
_MARKERS = {"slower": ">", "faster": "<", "equal": "s", "cannot tell": "o"}
_NOISE: dict[str, Any] = {"color": style.QUIET, "alpha": 0.3, "linewidth": 7, "solid_capstyle": "butt"}


def panels_of(rows: Iterable[EffectRow]) -> int:
    """How many treatments and loads there are to compare."""
    return len({(row.treatment, row.load) for row in rows})


def forest(content: Content) -> Figure | None:
    """One panel a treatment and load, one line an endpoint, over the noise of A/A."""
    groups = grouped(content.rows(EffectRow), lambda row: (row.treatment, row.load))
    if not groups:
        return None
    noise = {(row.load, *_endpoint(row)): row for row in content.rows(NoiseRow)}
    shown = dict(list(groups.items())[:MOST])
    titles = [f"{treatment}\nat {sentences.load(rows[0])}" for (treatment, _), rows in shown.items()]
    names = list(dict.fromkeys(_endpoint(row) for rows in shown.values() for row in rows))[:_MOST_ROWS]
    figure, panels = style.panels(titles, 2, 1.2 + 0.24 * len(names), style.wide(), sharex=True, sharey=True)
    panels[0].set_title(titles[0])  # also of a single panel: which treatment it is stands nowhere else
    for axes, ((_, load), rows) in zip(panels, shown.items(), strict=True):
        margin = rows[0].margin
        for edge in (100 * margin, 100 * (1 / (1 + margin) - 1)):
            axes.axvline(edge, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.axvline(0, color=style.INK, linewidth=0.8, zorder=1)
        for row in rows:
            if _endpoint(row) in names:
                _line(axes, names.index(_endpoint(row)), row, noise.get((load, *_endpoint(row))))
        axes.set_yticks(range(len(names)), [f"{name} {statistic.upper()}" for _, name, statistic in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("change (%)")
    _limit(panels, [row for rows in shown.values() for row in rows])
    style.legend(figure, _handles(row.verdict for rows in shown.values() for row in rows))
    return figure


def _line(axes: Axes, y: int, row: EffectRow, noise: NoiseRow | None) -> None:
    if noise is not None:
        intervals.line(axes, [_percent(noise.low), _percent(noise.high)], [y, y], zorder=2, **_NOISE)
    colour = _COLOURS[row.verdict]
    intervals.line(axes, [_percent(row.low), _percent(row.high)], [y, y], color=colour, linewidth=1.4, zorder=3)
    face = "none" if row.verdict == "cannot tell" else colour
    marker = _MARKERS[row.verdict]
    axes.plot([_percent(row.ratio)], [y], marker, color=colour, markerfacecolor=face, markersize=5, zorder=4)


def _percent(ratio: float) -> float:
    return 100 * (min(ratio, 100.0) - 1)


def _limit(panels: Sequence[Axes], rows: Sequence[EffectRow]) -> None:
    """What one wide interval would push together keeps its room: the axis goes as far as the points need, twice."""
    far = max(abs(_percent(row.ratio)) for row in rows)
    widest = max(max(abs(_percent(row.low)), abs(_percent(row.high))) for row in rows)
    reach = min(1.05 * widest, max(3 * far, 3 * 100 * rows[0].margin)) or 1.0  # all runs were the same
    panels[0].set_xlim(max(-reach, -105), reach)  # nothing becomes less than nothing


def _handles(verdicts: Any) -> list[Any]:
    present = set(verdicts)
    handles: list[Any] = [
        Line2D(
            [],
            [],
            color=colour,
            marker=_MARKERS[verdict],
            markersize=5,
            markerfacecolor="none" if verdict == "cannot tell" else colour,
            label=verdict,
        )
        for verdict, colour in _COLOURS.items()
        if verdict in present
    ]
    return [*handles, Patch(color=style.QUIET, alpha=0.3, linewidth=0, label="A/A")]


def capacities(content: Content) -> Figure | None:
    """Ratios of breaking points, one line a treatment."""
    rows = content.rows(CapacityRow)
    if not rows:
        return None
    figure = Figure(figsize=(style.width(), 1.1 + 0.32 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1, color=style.INK, linewidth=0.8, zorder=1)
    for y, row in enumerate(rows):
        axes.plot([row.low, row.high], [y, y], color=style.COLOURS[0], linewidth=1.4)
        axes.plot([row.ratio], [y], "o", color=style.COLOURS[0], markersize=5)
    # Beside each other: what shortens one alone may leave out just what it differs by from the baseline.
    room = _NAMES * style.width()
    every = [rows[0].baseline, *(row.treatment for row in rows)]
    baseline, *names = fitted(every, lambda name: texts.inches(name, "axes.labelsize") <= room)
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"times the breaking point of {baseline}")
    return figure


def shifts(content: Content) -> Figure | None:
    """How far each percentile moved, in ms; one panel a treatment and load."""
    groups = grouped(content.rows(ShiftRow), lambda row: (row.treatment, row.load))
    again = {load: rows for (treatment, load), rows in groups.items() if treatment == AGAIN}
    shown = dict([item for item in groups.items() if item[0][0] != AGAIN][:MOST])
    if not shown:
        return None
    titles = [f"{treatment}\nat {sentences.load(rows[0])}" for (treatment, _), rows in shown.items()]
    figure, panels = style.panels(titles, 2, style.HEIGHT if len(shown) == 1 else 2.6, sharey=True)
    panels[0].set_title(titles[0])  # as above
    for axes, ((_, load), rows) in zip(panels, shown.items(), strict=True):
        axes.axhline(0, color=style.INK, linewidth=0.8, zorder=1)
        if load in again:
            _band(axes, again[load], style.QUIET, "A/A")
        _band(axes, rows, style.COLOURS[1], "against the baseline")
        ticks = [row.percentile for row in rows]
        axes.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("percentile of all requests")
    panels[0].set_ylabel("longer by (ms)")
    panels[0].legend(loc="upper left")
    return figure


def _band(axes: Axes, rows: Sequence[ShiftRow], colour: str, label: str) -> None:
    x = list(range(len(rows)))
    known = all(abs(end) < float("inf") for row in rows for end in (row.low_ms, row.high_ms))
    if known:
        axes.fill_between(x, [r.low_ms for r in rows], [r.high_ms for r in rows], color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, [row.shift_ms for row in rows], color=colour, marker="o", markersize=3.5, linewidth=1.4, label=label)


def calibration(content: Content) -> Figure | None:
    """What was measured, and the KS distance, against the delay that was put in."""
    rows = [row for row in content.rows(CalibrationRow) if row.name == ALL]
    if len({row.delay_ms for row in rows}) < 3:
        return None
    figure = Figure(figsize=(style.width(), 5.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    longest = 1000 * max(row.delay_ms for row in rows)
    upper.plot([0, longest], [0, longest], color=style.QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for index, load in enumerate(sorted({row.load for row in rows})):
        mine = [row for row in rows if row.load == load]
        colour = style.COLOURS[index % len(style.COLOURS)]
        for row in mine:
            x = 1000 * row.delay_ms
            upper.plot([x, x], [1000 * row.low_ms, 1000 * row.high_ms], color=colour, linewidth=1.4)
            face = colour if row.detected else "none"
            upper.plot([x], [1000 * row.shift_ms], "o", color=colour, markerfacecolor=face, markersize=6)
        far = [(1000 * row.delay_ms, row.ks) for row in mine if row.ks is not None]
        if far:
            lower.plot(*zip(*far, strict=True), color=colour, marker="o", markersize=4, label=f"at {load:g} req/s")
        for row in mine:
            if row.delay_ms == 0 and row.ks is not None:
                lower.axhline(row.ks, color=colour, linewidth=1, linestyle=(0, (4, 3)))
    upper.set_ylabel("P50 longer by (us)")
    lower.set_ylabel("KS distance")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("injected delay (us)")
    if len({row.load for row in rows}) > 1:
        lower.legend()
    return figure


def _endpoint(row: EffectRow) -> tuple[str, str, str]:
    return row.scope, row.name, row.statistic
