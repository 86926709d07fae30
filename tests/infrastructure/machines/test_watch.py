"""Counters that a real `stone node` of this machine records."""

from __future__ import annotations

import io
import os
import signal
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.infrastructure.machines import Machine, NodeError
from loadstone.infrastructure.machines.here import Here
from loadstone.model.records.node.replicas import Subject, WatchArgs

_PART_WITHIN_S = 300.0


@pytest.fixture
def machine() -> Machine:
    return Machine("this machine", Here())


def tables(files: list[bytes]) -> pa.Table:
    return pa.concat_tables([pq.read_table(io.BytesIO(file)) for file in files])


def test_what_is_recorded_until_the_end(machine: Machine) -> None:
    watch = machine.watch(WatchArgs(period_ms=50, replicas={"a": Subject(group="loadstone/none/a")}, cores=(0,)))
    time.sleep(0.3)
    watch.end()
    watch.end()
    assert watch.problem == "" and watch.watched is not None
    table = tables(watch.files)
    assert table.column_names == ["time_ns", "subject", "metric", "value"]
    assert table.num_rows == watch.watched.rows and watch.watched.readings >= 2
    assert "replica:a" in watch.watched.absent
    machine.close()


def test_what_cannot_be_recorded_is_refused(machine: Machine) -> None:
    with pytest.raises(NodeError, match="period_ms is 1: give 10 to 60000"):
        machine.watch(WatchArgs(period_ms=1))
    machine.close()


def test_what_a_node_has_sent_before_it_is_killed_is_kept(machine: Machine) -> None:
    watch = machine.watch(WatchArgs(period_ms=50))
    deadline = time.monotonic() + _PART_WITHIN_S
    while not watch.files and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(machine.hello.pid, signal.SIGKILL)
    watch.end()
    assert watch.watched is None and "its node has ended (killed by signal 9)" in watch.problem
    assert tables(watch.files).num_rows > 0
    machine.close()
