"""Metrics of a whole run."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from loadstone.analysis import metrics
from loadstone.analysis.metrics.gather import KINDS
from loadstone.analysis.run import open_run
from tests import observed
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rates twice on two nodes with everything."""
    synthetic = Synthetic(name="rich", rates=[200, 600, 1500], repetitions=2, duration_s=2)
    folder = synthetic.write(tmp_path_factory.mktemp("results"))
    observed.observe(folder, spans=100)
    return folder


def test_every_trial_is_in_every_table(rich: Path):
    run = open_run(rich)
    found = metrics.gather(run)
    assert found and found.warnings == [] and found.shared == []
    per_trial = {"metrics_nodes": 3, "metrics_replicas": 10, "metrics_services": 10, "metrics_cstates": 15}
    per_trial |= {"metrics_power": 6, "metrics_energy": 1, "metrics_network": 3, "metrics_between": 1, "observed": 1}
    per_trial |= {"metrics_minutes": 3, "metrics_clocks": 3, "metrics_guests": 0}
    assert set(found.tables) == {kind.NAME for kind in KINDS} == set(per_trial)
    for name, rows in per_trial.items():
        assert found.tables[name].num_rows == 6 * rows
        of = [row.trial_id for row in run.trials] if rows else []
        assert found.tables[name]["trial_id"].unique().to_pylist() == of
    assert found.absent == {("power", "no /sys/class/powercap"): ["client"]}
    assert found.recorded == ["worker-1", "worker-2", "client"]


def test_spans_are_counted_beside_requests(rich: Path):
    run = open_run(rich)
    windows = [row.window_s or 0.0 for row in run.trials]
    for row, window in zip(metrics.gather(run).tables["observed"].to_pylist(), windows, strict=True):
        assert row["traces"] == row["requests"] - row["requests"] // 500
        assert row["produced"] == row["received"] + row["dropped"]
        assert (row["nodes"], row["recorded"], row["readings"], row["skipped"]) == (
            3,
            3,
            3 * math.ceil(window + 3.2),
            0,
        )


def test_a_run_without_metrics_has_none(rated: Path):
    found = metrics.gather(open_run(rated))
    assert not found and not found.warnings and not found.absent
    assert {table.num_rows for table in found.tables.values()} == {0}


def test_a_shared_machine_is_reported_as_one(tmp_path: Path):
    folder = Synthetic(rates=[200], duration_s=2).write(tmp_path)
    observed.observe(folder, "poor")
    found = metrics.gather(open_run(folder))
    assert found.shared == ["worker-1", "worker-2", "client"]
    assert found.tables["observed"]["recorded"].to_pylist() == [3]
    assert set(found.absent) == set(observed.ABSENT.items())
    assert {found.tables[name].num_rows for name in ("metrics_cstates", "metrics_power", "metrics_energy")} == {0}


def test_a_restarted_replica_and_damaged_files_are_doubts_not_errors(rich: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rich, tmp_path / "run"))
    first, second, third, *_ = sorted((folder / "trials").iterdir())
    table = pq.read_table(first / "metrics.parquet")
    mine = pc.and_(
        pc.equal(table["subject"], "replica:geo-1"), pc.equal(table["metric"], "container_cpu_seconds_total")
    )
    last = table["time_ns"].to_numpy() >= pc.max(table["time_ns"]).as_py() - 2_000_000_000
    began = pc.and_(mine, last)
    table = table.set_column(table.column_names.index("value"), "value", pc.if_else(began, 0.0, table["value"]))
    pq.write_table(table, first / "metrics.parquet")
    (second / "metrics.parquet").write_bytes(b"")
    content = json.loads((third / "observed.json").read_text())
    lost = {"problems": ["worker-2 was not recorded: no answer"], "traces": {"sample": 1.0, "requests": 400}}
    (third / "observed.json").write_text(json.dumps(content | lost))
    found = metrics.gather(open_run(folder))
    assert "geo-1: began anew (1 of 6 trials)" in found.warnings
    assert "worker-2 was not recorded: no answer (1 of 6 trials)" in found.warnings
    assert any(text.startswith("metrics.parquet cannot be read") for text in found.warnings)
    counted = {row["trial_id"]: row["traces"] for row in found.tables["observed"].to_pylist()}
    assert counted[third.name] is None and counted[first.name] is not None
    geo = [row for row in found.tables["metrics_services"].to_pylist() if row["service"] == "geo"]
    assert [row["trial_id"] for row in geo if row["cores"] is None] == [first.name]
    assert len({row["trial_id"] for row in geo}) == 5


def test_a_trial_without_a_window_has_no_numbers(rich: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rich, tmp_path / "run"))
    for file in folder.glob("trials/*/observed.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"window": None}))
    tables = metrics.gather(open_run(folder)).tables
    assert tables["observed"].num_rows == 6 and tables["metrics_nodes"].num_rows == 0


def test_an_observed_json_of_another_shape_is_a_warning_of_the_run(rich: Path, tmp_path: Path):
    folder = Path(shutil.copytree(rich, tmp_path / "run"))
    first = sorted((folder / "trials").iterdir())[0]
    (first / "observed.json").write_text('{"nodes": []}')
    run = open_run(folder)
    assert any(f"{first.name} observed.json" in text for text in run.warnings)
    assert metrics.gather(run).tables["observed"].num_rows == 5
