"""The page's part of the steady state: what it counts, names and warns of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.report import steady
from loadstone.report.content import gather
from loadstone.report.figures.steady import over_time
from loadstone.report.section import Section
from tests.synthetic import Synthetic

FLAT = [10.0, 10.2] * 50
JUMP = [10.0, 10.2] * 30 + [20.0, 20.2] * 20
RISE = [10.0 + step / 10 for step in range(100)]


@pytest.fixture
def section(tmp_path: Path) -> Callable[[dict[float, list[float] | None]], Section | None]:
    """The section of a run with two trials at each of these rates, whose latencies went like this."""

    def of(series: dict[float, list[float] | None]) -> Section | None:
        folder = Synthetic(rates=list(series), repetitions=2, duration_s=2.0).write(tmp_path)
        for file in folder.glob("trials/*/trial.json"):
            means = series[json.loads(file.read_text())["row"]["rate"]]
            summary: dict[str, Any] = json.loads(file.with_name("summary.json").read_text())
            summary["series"] = None if means is None else {"step_s": 0.02, "mean_ms": means}
            file.with_name("summary.json").write_text(json.dumps(summary))
        return steady.gather(gather(folder))

    return of


def test_trials_are_counted_and_those_that_had_not_settled_are_named(section):
    found = section({100.0: FLAT, 200.0: JUMP, 300.0: None, 400.0: RISE, 5000.0: FLAT})
    (line,) = found.shown["treatments"]
    assert [line.steady, line.unsettled, line.short, line.unjudged] == [4, 4, 0, 2]
    why = {row.load: why for row, why in found.shown["unsettled"]}
    assert why[400.0].startswith("it rises by 6")
    assert why[200.0] == "its level changes at 1.2 s" or why[200.0].startswith("it rises by ")
    unsettled = [row["trial_id"] for row in found.tables["steady"].to_pylist() if row["stationary"] is False]
    assert [row.trial_id for row, _ in found.shown["unsettled"]] == unsettled
    assert found.shown["more"] == 0
    (caution,) = found.cautions
    assert caution.startswith("4 of 6 trials that held or were measured had not reached a steady state (")
    assert all(trial in caution for trial in unsettled)


def test_a_run_of_steady_trials_has_no_caution(section):
    found = section({100.0: FLAT, 200.0: FLAT})
    assert found.cautions == [] and found.shown["unsettled"] == []
    assert found.shown["treatments"][0].steady == 4


def test_there_is_no_section_where_no_trial_kept_its_course(section):
    assert section({100.0: None}) is None


def test_the_figure_shows_the_trials_beside_the_breaking_point_with_their_cut(section, tmp_path: Path):
    found = section({100.0: FLAT, 300.0: [80.0] * 10 + FLAT[10:], 5000.0: FLAT})
    content = gather(next((tmp_path / "synthetic").iterdir()))
    content.tables.update(found.tables)
    figure = over_time(content)
    axes, broke = figure.axes
    assert (axes.get_title(), broke.get_title()) == ("held at 300 req/s", "not held at 5,000 req/s")
    assert [patch.get_width() for patch in axes.patches] == [pytest.approx(0.2)]
    assert len(axes.lines[0].get_xdata()) == 100
    assert {text.get_text() for text in figure.legends[0].texts} == {"mean by due time", "cut as warm-up (MSER-5)"}
