"""A run opened in Python: the tables of the report, in whatever one analyses them in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import loadstone
from loadstone.api import Run, Table
from loadstone.model.errors import InputError
from loadstone.report import content
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    return Synthetic(capacities={"baseline": 300.0, "vertical": 520.0}, duration_s=2.0).write(results)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    synthetic = Synthetic(capacities={"a": 400.0, "b": 300.0}, factor="workload", rates=[200], repetitions=7)
    return synthetic.write(tmp_path_factory.mktemp("results"))


@pytest.fixture
def run(searched: Path) -> Run:
    return loadstone.load(searched)


def test_tables_are_those_of_the_report(run: Run, searched: Path):
    tables = content.gather(searched).tables
    for name in ("trials", "breaking_points", "rates"):
        assert getattr(run, name).arrow.equals(tables[name]), name
    for name in ("operations", "cpu"):
        shown, every = tables[name].to_pylist(), getattr(run, name).rows()
        assert shown and all(row in every for row in shown), name
        ran = {row["trial_id"] for row in run.trials.rows() if row["aborted_at_s"] is None}
        assert {row["trial_id"] for row in every} == ran, "what broke and was stopped has none"
    assert run.name == "synthetic" and run.slo is not None and run.slo.limits == {99: 200}
    assert run.treatments[0].searched is not None and run.warnings == ()


def test_a_study_folder_is_its_newest_run(run: Run, searched: Path):
    assert loadstone.load(str(searched.parent)).path == run.path
    with pytest.raises(InputError, match="holds no run"):
        loadstone.load(searched / "trials")


def test_pandas_and_polars_see_the_same(run: Run):
    import pandas
    import polars

    frame, other = run.trials.to_pandas(), run.trials.to_polars()
    assert isinstance(frame, pandas.DataFrame) and isinstance(other, polars.DataFrame)
    assert list(frame.columns) == other.columns == run.trials.columns
    assert len(frame) == len(other) == len(run.trials) == len(run.trials.rows())
    assert other["p99_ms"].to_list() == [row["p99_ms"] for row in run.trials.rows()]
    assert frame["p99_ms"].dropna().tolist() == other["p99_ms"].drop_nulls().to_list()
    assert polars.DataFrame(run.trials).equals(other)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named_with_the_remedy(run: Run, library: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library} is not installed: pip install 'loadstone\[notebook\]'"):
        getattr(run.trials, f"to_{library}")()
    assert len(run.trials.rows()) == len(run.trials)


def test_a_column_is_an_array(run: Run):
    import numpy

    p99, names = run.trials["p99"], run.trials["treatment"]
    known = [row["p99_ms"] for row in run.trials.rows() if row["p99_ms"] is not None]
    assert len(p99) == len(run.trials) and p99[~numpy.isnan(p99)].tolist() == known
    assert len(known) < len(p99), "what broke and was stopped has none"
    assert set(names) == {"scaling=baseline", "scaling=vertical"}
    with pytest.raises(KeyError, match="no column 'p99_s'; did you mean 'p99_ms'"):
        _ = run.trials["p99_s"]


def test_runs_tables_and_trials_show_themselves(run: Run):
    table = run.trials._repr_html_()
    assert table.count("<tr>") == 1 + min(20, len(run.trials)) and "<th>p99_ms</th>" in table
    assert "&lt;" in Table(pa.table({"a": ["<b>"]}))._repr_html_()
    shown = run._repr_html_()
    assert "synthetic" in shown and "<th>capacity</th>" in shown
    trial = run.trial(run.trials.rows()[0]["trial_id"])
    assert trial.id in trial._repr_html_() and "<td></td>" not in trial._repr_html_()


def test_figures_of_the_report_are_objects(run: Run, tmp_path: Path):
    plot = run.plot.latency()
    assert plot.title == "P99 against offered load" and "Every trial is one marker" in plot.caption
    assert plot._repr_png_().startswith(b"\x89PNG")
    plot.save(tmp_path / "latency.svg")
    assert "<svg" in (tmp_path / "latency.svg").read_text()
    assert {"latency", "hold", "spectrum"} <= set(dir(run.plot))
    with pytest.raises(InputError, match=r"write a figure as \.svg, \.pdf or \.png"):
        plot.save(tmp_path / "latency.gif")
    with pytest.raises(AttributeError, match="no figure 'latencies'; did you mean 'latency'"):
        run.plot.latencies()
    with pytest.raises(InputError, match="has no data for the figure 'nodes'"):
        run.plot.nodes()


def test_what_has_nothing_beside_it_is_not_compared(tmp_path: Path):
    folder = Synthetic(rates=[100], repetitions=2, duration_s=1.0).write(tmp_path)
    with pytest.raises(InputError, match="nothing to compare: fewer than two treatments"):
        loadstone.load(folder).compare()


def test_a_bracket_has_its_lower_end_below(tmp_path: Path):
    """A short trial may hold above a load at which another did not."""
    folder = Synthetic(stop_after=4).write(tmp_path)
    rows = sorted(
        (folder / "trials").glob("*/trial.json"), key=lambda file: json.loads(file.read_text())["row"]["order"]
    )
    for number, file in enumerate(rows):
        trial = json.loads(file.read_text())
        trial["row"] |= {"verdict": "held" if number == 3 else "not held", "aborted_at_s": None, "phase": "bracket"}
        file.write_text(json.dumps(trial))
    (folder / "trials.parquet").unlink()
    (row,) = loadstone.load(folder).breaking_points.rows()
    assert row["known"] == "bracketed" and row["low"] < row["high"]


def test_what_was_not_observed_is_an_empty_table(run: Run):
    for name in ("nodes", "replicas", "services", "cstates", "power", "energy"):
        table = getattr(run, name)
        assert len(table) == 0 and "trial_id" in table.columns, name
    assert len(run.spans) == len(run.metrics) == len(run.critical_path) == 0


def test_spans_and_readings_of_all_trials_have_their_trial(tmp_path: Path):
    folder = Synthetic(rates=[100], repetitions=2, duration_s=1.0).write(tmp_path)
    run = loadstone.load(folder)
    first, second = (row["trial_id"] for row in run.trials.rows())
    for trial, count in ((first, 2), (second, 1)):
        pq.write_table(pa.table({"span_id": list(range(count))}), folder / "trials" / trial / "spans.parquet")
    assert run.spans.rows() == [
        {"trial_id": first, "span_id": 0},
        {"trial_id": first, "span_id": 1},
        {"trial_id": second, "span_id": 0},
    ]
    (folder / "trials" / first / "spans.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=f"{first}/spans.parquet: cannot be read"):
        _ = run.spans


def test_a_trial_is_found_by_the_beginning_of_its_id(run: Run):
    row = run.trials.rows()[0]
    trial = run.trial(row["trial_id"][:8])
    assert trial.row == row and trial.path.name == trial.id == row["trial_id"]
    assert trial.summary == json.loads((trial.path / "summary.json").read_text())
    assert set(trial.over_time.arrow["trial_id"].to_pylist()) == {trial.id}
    for name, count in (("", len(run.trials)), ("nothing", 0)):
        with pytest.raises(InputError, match=f"begins the ids of {count} trials"):
            run.trial(name)


def test_treatments_are_compared_as_in_the_report(rated: Path):
    from loadstone.analysis import comparison
    from loadstone.analysis.run import open_run

    run = loadstone.load(rated)
    found, wanted = run.compare("workload=a", margin=0.02), comparison.within(open_run(rated), "workload=a", 0.02)
    assert (found.baseline, found.margin, found.warnings) == ("workload=a", 0.02, wanted.warnings)
    assert found.effects.arrow.equals(wanted.tables["comparison"])
    (p50,) = [r for r in found.effects.rows() if (r["name"], r["statistic"]) == ("all requests", "p50")]
    assert p50["runs"] == 7 and p50["ratio"] > 1 and p50["verdict"] == "slower"
    again = run.compare_with(loadstone.load(rated))
    assert {row["ratio"] for row in again.effects.rows()} == {1.0}


def test_a_trial_in_which_hardly_anything_was_answered_is_no_obstacle(tmp_path: Path):
    capacities = {"a": 400.0, "b": 300.0}
    folder = Synthetic(capacities=capacities, factor="workload", rates=[200], repetitions=7, duration_s=1.0)
    run = folder.write(tmp_path)
    trial = loadstone.load(run).trial(loadstone.load(run).trials.rows()[0]["trial_id"])
    result = json.loads((trial.path / "trial.json").read_text())
    result["row"]["completed"] = 1
    (trial.path / "trial.json").write_text(json.dumps(result))
    (run / "trials.parquet").unlink()
    found = loadstone.load(run).compare("workload=a")
    assert "all requests" not in {row["name"] for row in found.effects.rows()}


def test_importing_loadstone_loads_nothing_heavy():
    script = "import sys, loadstone; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "loadstone" in loaded
    assert set(loaded) & {"numpy", "pyarrow", "pandas", "polars", "pydantic", "loadstone.api"} == set()


def test_a_table_says_what_it_is():
    table = Table(pa.table({"a": [1, 2], "b": ["x", None]}))
    assert repr(table) == "<Table of 2 rows: a, b>"
    assert table.rows() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = loadstone.lode  # type: ignore[attr-defined]
