"""Readings aligned to the measured window: what is interpolated, what is refused, and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.analysis.metrics.windows import ANEW, EARLY, FEW, LATE, measure, read

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
COUNTER, GAUGE = "context_switches_total", "container_threads"


def readings(values: list[float], metric: str = COUNTER, first_s: float = 0.0, period_s: float = 1.0) -> pa.Table:
    times = [START + round((first_s + i * period_s) * SECOND) for i in range(len(values))]
    names = {"node": "a", "subject": "node", "metric": metric}
    texts = {name: pa.array([value] * len(values)) for name, value in names.items()}
    return pa.table({"time_ns": times, **texts, "value": pa.array(values, pa.float64())})


def value_of(table: pa.Table, from_s: float, to_s: float):
    measured = measure(table, START + round(from_s * SECOND), START + round(to_s * SECOND))
    (value,) = measured.values.values()
    return value


@given(
    period=st.floats(0.1, 5),
    phase=st.floats(0, 0.99),
    slope=st.floats(0, 1e6),
    begin=st.floats(5, 20),
    length=st.floats(0.5, 60),
    shuffle=st.randoms(),
)
def test_a_steady_counter_has_its_slope_whatever_the_phase(period, phase, slope, begin, length, shuffle):
    count = int((begin + length) / period) + 3
    times = [(phase + i) * period for i in range(count)]
    table = readings([7 + slope * t for t in times], first_s=phase * period, period_s=period)
    order = list(range(count))
    shuffle.shuffle(order)
    value = value_of(table.take(order), begin, begin + length)
    assert value.change == pytest.approx(slope * length, rel=1e-5, abs=1e-5)
    assert value.problem == ""


def test_only_the_window_counts_and_its_ends_lie_on_the_lines_between_readings():
    value = value_of(readings([0, 100, 110, 120, 220, 900]), 1.5, 3.5)
    assert value.change == pytest.approx(5 + 10 + 50)


@pytest.mark.parametrize(
    ("first_s", "count", "reason"),
    [(0.0, 20, ""), (1.9, 20, ""), (2.1, 20, LATE), (0.0, 11, ""), (0.0, 10, EARLY), (5.0, 1, FEW), (50.0, 5, LATE)],
)
def test_beyond_one_period_nothing_is_extrapolated(first_s: float, count: int, reason: str):
    value = value_of(readings([3.0 * i for i in range(count)], first_s=first_s), 1.0, 10.5)
    assert value.problem == reason
    assert value.change == (None if reason else pytest.approx(3 * 9.5))


def test_a_counter_that_began_anew_in_the_window_has_no_value():
    broken = [10.0, 20, 30, 2, 12, 22, 32]
    assert value_of(readings(broken), 1.5, 4.5) == (None, None, None, None, ANEW)
    assert value_of(readings(broken), 3.2, 5.5).change == pytest.approx(23)
    assert value_of(readings(broken), 0.2, 1.9).change == pytest.approx(17)
    assert value_of(readings(broken), 0.5, 2.5).problem == ANEW  # the end lies between the readings around it


def test_idle_time_may_fall_a_little_as_the_kernel_estimates_it():
    value = value_of(readings([10.0, 10.2, 10.1, 10.4, 10.5], "cpu_iowait_seconds_total"), 0, 4)
    assert value.change == pytest.approx(0.5) and value.problem == ""
    assert value_of(readings([10.0, 10.0, 9.9, 9.9], "cpu_iowait_seconds_total"), 0, 3).change == 0.0


def test_a_gauge_has_its_mean_in_the_window_and_what_it_was_at_either_end():
    value = value_of(readings([5, 6, 7, 9, 30], GAUGE), 0.9, 3.2)
    assert value == (None, pytest.approx(22 / 3), 6, 9, "")
    assert value_of(readings([5, 6], GAUGE), 3, 9) == (None, None, None, None, "")


@pytest.mark.parametrize(
    ("first_s", "count", "known"), [(1.9, 20, True), (2.1, 20, False), (0, 11, True), (0, 10, False)]
)
def test_a_gauge_that_was_not_read_in_all_of_the_window_has_no_mean(first_s: float, count: int, known: bool):
    value = value_of(readings([4.0] * count, GAUGE, first_s), 1.0, 11.0)
    assert (value.mean is not None) is known


def test_a_small_gauge_keeps_its_digits_beside_a_huge_one():
    small, huge = readings([2.5e-5] * 9, "clock_offset_seconds"), readings([1e15 + 1] * 9, "memory_total_bytes")
    measured = measure(pa.concat_tables([huge, small]), START, START + 8 * SECOND)
    assert measured.get("a", "node", "clock_offset_seconds").mean == pytest.approx(2.5e-5, rel=1e-12)


def test_readings_and_gaps_are_counted_by_node():
    whole, gaps = readings([0.0] * 10), readings([0.0] * 10).take([0, 1, 2, 6, 7, 9])
    other = gaps.set_column(1, "node", pa.array(["b"] * 6))
    measured = measure(pa.concat_tables([whole, other]), START, START + 9 * SECOND)
    assert measured.readings == {"a": (10, 0), "b": (6, 4)}


def test_a_reading_that_came_twice_counts_once():
    table = readings([0.0, 10, 20, 30])
    assert value_of(pa.concat_tables([table, table]), 0.5, 2.5).change == pytest.approx(20)


def test_no_readings_and_no_window_give_no_values():
    assert measure(readings([]), START, START + SECOND).values == {}
    assert measure(readings([1.0, 2.0]), START, START).values == {}


def test_a_file_is_read_and_what_is_wrong_is_reported(tmp_path: Path):
    file = tmp_path / "metrics.parquet"
    assert read(file) == (None, "")
    pq.write_table(readings([1.0, 2.0]), file)
    table, problem = read(file)
    assert table is not None and table.num_rows == 2 and problem == ""
    file.write_bytes(b"PAR1 no")
    assert read(file)[1].startswith("metrics.parquet cannot be read")
    pq.write_table(readings([1.0]).drop_columns(["subject"]), file)
    assert read(file) == (None, "metrics.parquet lacks the columns subject")


def test_dictionaries_that_differ_between_row_groups_are_one(tmp_path: Path):
    file = tmp_path / "metrics.parquet"
    tables = [readings([float(i) for i in range(4)], metric) for metric in ("forks_total", "interrupts_total")]
    with pq.ParquetWriter(file, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    found, _ = read(file)
    assert found is not None
    measured = measure(found, START, START + 2 * SECOND)
    assert {key[2]: value.change for key, value in measured.values.items()} == {"forks_total": 2, "interrupts_total": 2}
    assert np.isfinite(measured.seconds)
