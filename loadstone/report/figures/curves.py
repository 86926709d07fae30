"""Curves over fixed loads beside those of latency and throughput: close up, means, and what was not completed."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from loadstone.analysis.curves import CurvePoint
from loadstone.analysis.latency import LoadPoint
from loadstone.model.records.bounds import only_bounded
from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.load import curve, load_label, objective, panels
from loadstone.report.figures.names import handles, panelled

_FAR = 3.0
"""From so many times the limit on a curve leaves the close view, which is drawn where one does."""


def close(content: Content) -> Figure | None:
    """The percentile on a linear axis up to the SLO's limit, else up to three times that of the lowest load."""
    column, name, limit = content.percentile
    points = _points(content, column)
    if not points:
        return None
    top = 1.25 * limit if limit is not None else _FAR * min(point.median for point in points)
    inside = [point.load for point in points if point.median <= top]
    slower = [row.latency_bound_ms or 0.0 for row in content.rows(LoadPoint) if only_bounded(row, column)]
    if max(*(point.median for point in points), *slower) < _FAR * top or not inside:
        return None
    last = min((point.load for point in points if point.load > max(inside)), default=max(inside))
    return _figure(content, [p for p in points if p.load <= last], f"{name} latency (ms)", limits=(0.0, top))


def means(content: Content) -> Figure | None:
    """The mean latency."""
    return _figure(content, _points(content, "mean_ms"), "mean latency (ms)")


def dropped(content: Content) -> Figure | None:
    """The share of requests without a good answer in time; None where none was dropped."""
    return _shares(content, "dropped_share", "dropped (%)")


def unfinished(content: Content) -> Figure | None:
    """The share of requests without a good answer when the window ended."""
    return _shares(content, "unfinished_share", "not completed in the window (%)")


def _points(content: Content, quantity: str) -> list[CurvePoint]:
    """None where there is only one load: bars show that."""
    found = content.rows(CurvePoint, quantity=quantity)
    return found if len({point.load for point in found}) > 1 and not content.closed else []


def _shares(content: Content, quantity: str, label: str) -> Figure | None:
    points = _points(content, quantity)
    if not any(point.mean for point in points):
        return None
    return _figure(content, points, label, 100.0, (-2.0, 102.0))


def _figure(
    content: Content,
    points: Sequence[CurvePoint],
    label: str,
    scale: float = 1.0,
    limits: tuple[float, float] | None = None,
) -> Figure | None:
    """A panel for each group of treatments; without ``limits`` of what is drawn up, on a logarithmic axis."""
    if not points:
        return None
    figure, pairs = panels(content)
    for axes, series in pairs:
        mine = [point for point in points if point.treatment in {group.treatment.label for group in series}]
        for group in series:
            curve(axes, group, mine, scale)
        if limits is None:
            style.plain_scale(axes, "y", [point.mean for point in mine], log=True)
        else:
            axes.set_ylim(*limits)
        if points[0].quantity == content.percentile[0]:
            objective(axes, content)
        style.plain_scale(axes, "x", [point.load for point in mine], log=False if scale == 1.0 and limits else None)
        axes.set_xlabel(load_label(content))
        axes.set_ylabel(label)
    style.legend(figure, handles(panelled(content.treatments)))
    return figure
