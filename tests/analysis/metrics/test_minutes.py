"""One-minute values of machines and the errors of their clocks, from counters that grow by known amounts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.metrics import gather, minutes
from loadstone.analysis.metrics.clock_errors import ClockErrorRow
from loadstone.analysis.metrics.minutes import MinuteRow, SystemRow
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import Row, rows
from tests.observed import observe
from tests.synthetic import Synthetic


def observed(tmp_path: Path, seconds: float, kind: str = "rich") -> Path:
    folder = Synthetic(rates=[20], repetitions=2, duration_s=seconds).write(tmp_path)
    observe(folder, kind)
    return folder


def found(folder: Path, kind: type[Row]) -> list[Row]:
    return rows(kind, gather(open_run(folder)).tables[kind.NAME])  # type: ignore[attr-defined]


def system(folder: Path) -> dict[str, SystemRow]:
    return {row.node: row for row in minutes.system(found(folder, MinuteRow))}


def test_whole_minutes_of_each_machine(tmp_path: Path) -> None:
    every = found(observed(tmp_path, 130.0), MinuteRow)
    assert {(row.node, row.minute, row.seconds) for row in every} == {
        (node, minute, 60.0) for node in ("worker-1", "worker-2", "client") for minute in (1, 2)
    }
    assert {tuple(row.services) for row in every if row.node == "client"} == {()}


def test_mean_and_deviation_over_the_minutes_of_all_trials(tmp_path: Path) -> None:
    """Counters grow evenly, so the deviation is none; a step in the second minute of one trial is one."""
    folder = observed(tmp_path, 130.0)
    place = sorted((folder / "trials").iterdir())[0] / "metrics.parquet"
    table = pq.read_table(place)
    changed = table.to_pylist()
    window = json.loads((place.parent / "observed.json").read_text())["window"]
    for row in changed:
        if row["metric"] == "memory_free_bytes" and row["time_ns"] > window["from_ns"] + 60_000_000_000:
            row["value"] -= 4e9
    pq.write_table(type(table).from_pylist(changed, schema=table.schema), place)
    row = system(folder)["worker-1"]
    assert (row.trials, row.values, row.seconds) == (2, 4, 60.0)
    load = 20 / 1250 * 0.7
    assert row.context_switches_per_s == pytest.approx(2000 + 60_000 * load)
    assert row.context_switches_per_s_sd == pytest.approx(0, abs=1e-3)
    assert row.cpu_user_percent == pytest.approx(100 * 0.62 * load * 4)
    assert row.cpu_iowait_percent == pytest.approx(2)
    assert row.network_received_bytes_per_s == pytest.approx(2e4 + 9e6 * load)
    step = 4e9 if row.node == "worker-1" else 0
    assert row.memory_occupied_bytes == pytest.approx(32e9 - 20e9 - 1e9 - 4e9 + step / 4)
    assert row.memory_occupied_bytes_sd == pytest.approx(step / 2)
    assert row.memory_programs_bytes == pytest.approx(32e9 - 20e9 - 1e9 - 4e9 - 5e8 - 1e8 - 1e7 + step / 4)


def test_a_shorter_window_is_one_value(tmp_path: Path) -> None:
    row = system(observed(tmp_path, 5.0))["worker-2"]
    assert (row.values, row.seconds) == (2, 5.0)


def test_nodes_of_one_machine_are_one_row_with_the_services_of_all(tmp_path: Path) -> None:
    (row,) = system(observed(tmp_path, 5.0, "poor")).values()
    assert row.node == "worker-1 + worker-2 + client" and len(row.services) > 5


def test_what_a_kernel_does_not_report_is_null(tmp_path: Path) -> None:
    folder = observed(tmp_path, 5.0)
    for place in folder.glob("trials/*/metrics.parquet"):
        table = pq.read_table(place)
        kept = [row for row in table.to_pylist() if row["metric"] != "memory_slab_bytes"]
        pq.write_table(type(table).from_pylist(kept, schema=table.schema), place)
    row = system(folder)["worker-1"]
    assert row.memory_programs_bytes is None and row.memory_occupied_bytes is not None


def test_what_one_minute_lacks_has_no_mean(tmp_path: Path) -> None:
    """A counter that began anew in the second minute of one of two trials."""
    folder = observed(tmp_path, 130.0)
    place = sorted((folder / "trials").iterdir())[0] / "metrics.parquet"
    table = pq.read_table(place)
    began = json.loads((place.parent / "observed.json").read_text())["window"]["from_ns"]
    changed = table.to_pylist()
    for row in changed:
        if row["metric"] == "interrupts_total" and row["time_ns"] > began + 90_000_000_000:
            row["value"] = 0.0
    pq.write_table(type(table).from_pylist(changed, schema=table.schema), place)
    row = system(folder)["worker-1"]
    assert row.values == 4 and row.context_switches_per_s is not None
    assert (row.interrupts_per_s, row.interrupts_per_s_sd) == (None, None)


def test_the_largest_error_of_a_clock_in_each_ten_seconds(tmp_path: Path) -> None:
    every = found(observed(tmp_path, 30.0), ClockErrorRow)
    mine = [row for row in every if row.node == "worker-1" and row.trial_id == every[0].trial_id]
    assert len(mine) == 4
    assert mine == sorted(mine, key=lambda row: row.time_s)
    growing = [row.error_us for row in mine]
    assert growing == sorted(growing) and growing[-1] == pytest.approx(60 + 0.1 * 33, abs=0.2)
    assert [row.offset_us for row in every] == pytest.approx([25] * len(every))
