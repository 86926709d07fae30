"""A caption says where an interval goes on beyond the frame of its axes, and only there."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from loadstone.analysis.comparison.tables import EffectRow
from loadstone.analysis.curves import CurvePoint
from loadstone.analysis.schema import tables
from loadstone.report import comparison, content
from loadstone.report.content import Content
from loadstone.report.figure_jobs import Job
from loadstone.report.figures import intervals
from loadstone.report.figures.intervals import CUT
from loadstone.report.figures.kinds import KINDS
from tests.synthetic import Synthetic
from tests.trial_rows import effect_row


def drawn(gathered: Content, kind: str, folder: Path) -> tuple[str, str]:
    """Caption and SVG."""
    [chosen] = [each for each in (*KINDS, *comparison._KINDS) if each.name == kind]
    found = Job(chosen, gathered, folder, {"which": ""}).draw()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("ends", "log", "cut"),
    [
        ((1.0, 9.0), False, False),
        ((1.0, 10.0), False, False),
        ((1.0, 11.0), False, True),
        ((0.0, 9.0), False, True),
        ((1.0, inf), False, True),
        ((1.0, 9.0), True, False),
        ((0.0, 9.0), True, True),
    ],
)
@pytest.mark.parametrize("banded", [False, True])
def test_an_end_outside_is_noted(ends: tuple[float, float], log: bool, cut: bool, banded: bool) -> None:
    figure = Figure()
    axes = figure.subplots()
    if log:
        axes.set_yscale("log")
    axes.plot([0, 2], [-50, 50])  # no interval
    if banded and ends[1] < inf:
        intervals.band(axes, [0, 1], [ends[0]] * 2, [ends[1]] * 2)
    else:
        intervals.line(axes, [1, 1], ends)
    axes.set_ylim(1, 10)
    assert intervals.noted("What it shows.", figure) == ("What it shows. " + CUT if cut else "What it shows.")


@pytest.mark.parametrize(("high", "cut"), [(1.12, False), (40.0, True)])
def test_a_comparison_of_few_runs(tmp_path: Path, high: float, cut: bool) -> None:
    gathered = content.gather(Synthetic(rates=[100], duration_s=0.5).write(tmp_path))
    row = effect_row(treatment="b", ratio=1.05, low=0.98, high=high, needed=None, verdict="cannot tell")
    caption, svg = drawn(replace(gathered, tables=tables((EffectRow, [row]))), "comparison_forest", tmp_path)
    assert caption.endswith(CUT) is cut and (CUT in svg) is cut


@pytest.mark.parametrize(("high", "cut"), [(12.0, False), (90.0, True)])
def test_bars_of_few_runs(tmp_path: Path, high: float, cut: bool) -> None:
    capacities = {"baseline": 1250.0, "vertical": 1300.0}
    gathered = content.gather(Synthetic(capacities=capacities, rates=[100], duration_s=0.5).write(tmp_path))
    points = [
        CurvePoint(
            treatment=each.label, load=100.0, quantity="p99_ms", trials=2, median=10.0, mean=10.0, low=9.0, high=high
        )
        for each in gathered.treatments
    ]
    caption, _ = drawn(replace(gathered, tables=tables((CurvePoint, points))), "bars", tmp_path)
    assert caption.endswith(CUT) is cut
