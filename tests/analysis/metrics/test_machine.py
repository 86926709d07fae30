"""How fast the nodes of a trial were."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.metrics.machine import NOT_RECORDED, machine_state
from loadstone.model.records.observed import Observed
from tests import observed as made

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
REPLICAS = {"geo-1": {"service": "geo", "tier": "logic", "node": "worker-1"}}
WINDOW = {"from_ns": START + SECOND, "to_ns": START + 10 * SECOND}


def observed(**parts: object) -> Observed:
    return Observed.model_validate({"nodes": made.nodes("rich"), "replicas": REPLICAS, "window": WINDOW, **parts})


def record(folder: Path, seconds: int) -> None:
    steal = {"worker-1": 0.04, "worker-2": 0.2, "client": 0.0}
    readings = [
        (node, subject, metric, first, steal[node] if (subject, metric) == ("node", "cpu_steal_seconds_total") else by)
        for node, subject, metric, first, by in made.rich(0.5)
    ]
    pq.write_table(made.table(readings, START, seconds), folder / "metrics.parquet")


def test_it_is_the_share_of_the_node_that_lost_most_and_the_time_of_the_slowest(tmp_path: Path) -> None:
    """But not of one that runs no replica, such as the client."""
    record(tmp_path, 12)
    state = machine_state(tmp_path, observed())
    assert state.steal_share == pytest.approx(0.2 / 4)
    assert state.reference_ms == pytest.approx(3.5)
    assert machine_state(tmp_path, observed(window=None)) == NOT_RECORDED


def test_of_a_trial_that_was_stopped_it_is_what_it_was_until_then(tmp_path: Path) -> None:
    """Its counters end with it, long before the window that was planned."""
    record(tmp_path, 4)
    assert machine_state(tmp_path, observed()) == NOT_RECORDED
    state = machine_state(tmp_path, observed(), stopped_s=1.7)
    assert (state.steal_share, state.reference_ms) == (pytest.approx(0.2 / 4), pytest.approx(3.5))


def test_nothing_is_known_where_no_counters_were_recorded(tmp_path: Path) -> None:
    assert machine_state(tmp_path, observed()) == NOT_RECORDED
