"""The page's part of interference: each level's latency and throughput, and what its neighbours used."""

from __future__ import annotations

import csv
import json
from math import exp, log
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import stats

from loadstone.analysis.interference import InterferenceRow, NeighbourLoadRow
from loadstone.analysis.schema import rows
from loadstone.report import interference, page
from loadstone.report.content import gather
from loadstone.report.figures import style
from loadstone.report.figures.interference import levels
from loadstone.report.section import Section
from tests.report.reading import Page
from tests.synthetic import Synthetic

LEVELS = {"cpu": {"stressor": "cpu", "load": "50%"}, "hdd": {"stressor": "hdd"}}
OF_FACTOR = {"factor": "interference", "levels": LEVELS, "capacities": {"off": 900.0, "cpu": 700.0, "hdd": 800.0}}


def disturbed(tmp_path: Path, **given: object) -> Path:
    fixed = {"rates": [200, 300], "repetitions": 4, "duration_s": 2.0, **OF_FACTOR, **given}
    return Synthetic(**fixed).write(tmp_path)  # type: ignore[arg-type]


def found_in(folder: Path) -> tuple[Section, list[InterferenceRow]]:
    section = interference.gather(gather(folder))
    assert section is not None
    return section, rows(InterferenceRow, section.tables["interference"])


def test_each_level_has_its_latency_with_an_interval_over_runs_and_the_use_of_its_neighbours(tmp_path: Path) -> None:
    folder = disturbed(tmp_path)
    _, found = found_in(folder)
    assert [(row.level, row.rate) for row in found] == [
        (level, rate) for level in ("none", "cpu,load:50%", "hdd") for rate in (200.0, 300.0)
    ]
    trials = [row for row in gather(folder).run.trials if row.factors["interference"] == "hdd" and row.rate == 300]
    logarithms = [log(row.p99_ms or 0.0) for row in trials]
    reach = stats.t(3).ppf(0.975) * stats.sem(logarithms)
    hdd = found[-1]
    assert hdd.runs == 4
    assert hdd.p99_ms == pytest.approx(exp(fmean(logarithms)))
    assert (hdd.p99_ms_low, hdd.p99_ms_high) == pytest.approx(
        (exp(fmean(logarithms) - reach), exp(fmean(logarithms) + reach))
    )
    assert hdd.throughput is not None and hdd.throughput_low is not None
    assert hdd.throughput_low < hdd.throughput < 330
    assert (hdd.cpu_cores, hdd.written_bytes_per_s) == pytest.approx((0.75 * 1.15, 2 * 2**20))
    assert (hdd.read_bytes_per_s, hdd.operations_per_s) == (0, 600)
    quiet = found[0]
    assert quiet.p50_ms is not None
    assert (quiet.cpu_cores, quiet.written_bytes_per_s, quiet.operations_per_s) == (None, None, None)


def test_what_a_killed_neighbour_used_is_not_in_the_means(tmp_path: Path) -> None:
    folder = disturbed(tmp_path, invalid=(3,), rates=[200])
    assert gather(folder).run.trials[2].verdict == "invalid"
    _, found = found_in(folder)
    assert [row.runs for row in found] == [4, 4, 3]
    assert found[2].cpu_cores == pytest.approx(0.75 * 1.2)


def test_what_one_node_did_not_count_has_no_sum(tmp_path: Path) -> None:
    folder = disturbed(tmp_path, rates=[200], repetitions=1)
    for file in folder.glob("trials/*/interference.json"):
        content = json.loads(file.read_text())
        content["readings"][1] |= {"operations_per_s": None, "written": None}
        file.write_text(json.dumps(content))
    _, found = found_in(folder)
    assert (found[1].operations_per_s, found[1].written_bytes_per_s) == (None, None)
    assert found[1].cpu_cores == pytest.approx(0.75)
    assert found[1].p99_ms is not None and found[1].p99_ms_low is None


def test_the_page_shows_the_table_and_the_figure(tmp_path: Path) -> None:
    folder = disturbed(tmp_path, rates=[200], comparison=True)
    page.build(folder)
    shown = Page((folder / "report" / "index.html").read_text(encoding="utf-8"))
    text = " ".join(" ".join(shown.texts).split())
    assert "Neighbours ran on worker-1, worker-2, from before the warm-up" in text
    assert "none 200 8 " in text and "cpu,load:50% 200 4 " in text
    assert (folder / "report" / "figures" / "interference.svg").exists()
    with (folder / "report" / "tables" / "neighbours.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 4
    head = (folder / "report" / "tables" / "interference.md").read_text().splitlines()[0]
    assert "P99 [95 % interval] (ms)" in head and "Written (MiB/s)" in head


def test_the_figure_has_a_point_with_its_interval_for_each_level_and_load(tmp_path: Path) -> None:
    content = gather(disturbed(tmp_path))
    section, found = found_in(content.run.folder)
    content.tables.update(section.tables)
    with style.styled():
        figure = levels(content)
    assert figure is not None
    p50, p99, completed, neighbours = figure.axes
    for axes, column in ((p50, "p50_ms"), (p99, "p99_ms"), (completed, "throughput")):
        drawn = [np.asarray(line.get_xdata()) for line in axes.lines]
        points = [float(places[0]) for places in drawn if len(places) == 1]
        assert points == [getattr(row, column) for row in found]
        assert len(axes.lines) == 2 * len(points)
        assert all(0 <= value <= axes.get_xlim()[1] for value in points)
    assert [bar.get_width() for bar in neighbours.patches if isinstance(bar, Rectangle)] == pytest.approx(
        [row.cpu_cores or 0 for row in found]
    )
    assert [text.get_text() for text in figure.legends[0].texts] == ["200 req/s", "300 req/s"]


@pytest.mark.usefixtures("plain")
def test_a_search_shows_what_neighbours_used_and_no_mean_of_different_loads(tmp_path: Path) -> None:
    capacities = {"off": 900.0, "cpu": 700.0}
    folder = disturbed(tmp_path, rates=None, repetitions=1, capacities=capacities, duration_s=1.0)
    section, found = found_in(folder)
    assert [(row.rate, row.p50_ms, row.throughput) for row in found] == [(None, None, None)] * 2
    assert found[1].cpu_cores == pytest.approx(0.75) and section.kinds == ()
    text = " ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts)
    assert "The loads of a search differ" in text


@pytest.mark.usefixtures("plain")
def test_a_setting_disturbs_every_trial(tmp_path: Path) -> None:
    folder = disturbed(tmp_path, rates=[200], repetitions=2, capacities={"cpu": 700.0})
    file = {"level": "vm,workers:2", "readings": [{"name": "vm", "node": "worker-1", "window_s": 2, "cpu_s": 1}]}
    for trial in (folder / "trials").iterdir():
        (trial / "interference.json").write_text(json.dumps(file))
    section, _ = found_in(folder)
    assert section.shown["alone"] == "vm,workers:2"
    text = " ".join(" ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts).split())
    assert "Every trial was disturbed by vm,workers:2 , on worker-1." in text


def test_another_application_has_its_own_requests_beside_the_measured_ones(tmp_path: Path) -> None:
    levels = {"shop": {"application": "shop", "rate": 50}}
    folder = disturbed(tmp_path, rates=[200], repetitions=2, levels=levels, capacities={"off": 900.0, "shop": 800.0})
    section, found = found_in(folder)
    quiet, beside = found
    assert beside.level == "shop,rate:50" and beside.cpu_cores == pytest.approx(0.75)
    assert (beside.neighbour_throughput, beside.neighbour_lost_share) == pytest.approx((45, 0.1))
    assert beside.neighbour_p99_ms == pytest.approx(exp((log(16) + log(32)) / 2))
    assert beside.neighbour_p99_ms_low is not None and beside.neighbour_p99_ms_low < beside.neighbour_p99_ms
    assert (quiet.neighbour_throughput, quiet.neighbour_p99_ms, quiet.neighbour_lost_share) == (None, None, None)
    of_trials = rows(NeighbourLoadRow, section.tables["neighbour_requests"])
    assert [(row.offered, row.completed, row.lost, row.p50_ms) for row in of_trials] == [
        (100, 90, 10, 4.0),
        (100, 90, 10, 8.0),
    ]
    text = " ".join(" ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts).split())
    assert "Requests of the other application" in text and "shop,rate:50 200" in text


@pytest.mark.usefixtures("plain")
def test_a_run_in_which_the_other_application_answered_nothing_is_in_its_means(tmp_path: Path) -> None:
    levels = {"shop": {"application": "shop", "rate": 50}}
    folder = disturbed(tmp_path, rates=[200], repetitions=2, levels=levels, capacities={"off": 900.0, "shop": 800.0})
    file = next(folder.glob("trials/*/interference.json"))
    record = json.loads(file.read_text())
    record["load"] |= {"completed": 0, "errors": record["load"]["offered"], "p50_ms": None, "p99_ms": None}
    file.write_text(json.dumps(record))
    _, (_, beside) = found_in(folder)
    assert (beside.neighbour_throughput, beside.neighbour_throughput_low) == (0, None)
    assert (beside.neighbour_p50_ms, beside.neighbour_p99_ms) == (None, None)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    folder = disturbed(tmp_path, rates=[200], repetitions=1)
    file = sorted(folder.glob("trials/*/interference.json"))[0]
    file.write_text('{"level": ')
    text = " ".join(" ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts).split())
    assert f"{file.parent.name} interference.json" in text


def test_there_is_no_section_without_neighbours(rated: Path) -> None:
    assert interference.gather(gather(rated)) is None
