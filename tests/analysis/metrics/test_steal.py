"""The processor time that a hypervisor took from the nodes of a trial."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.metrics.steal import stolen
from loadstone.model.records.observed import Observed
from tests import observed as made

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
WINDOW = {"from_ns": START + SECOND, "to_ns": START + 10 * SECOND}


def observed(**parts: object) -> Observed:
    return Observed.model_validate({"nodes": made.nodes("rich"), "replicas": {}, "window": WINDOW, **parts})


def record(folder: Path, seconds: int) -> None:
    steal = {"worker-1": 0.04, "worker-2": 0.2, "client": 0.0}
    readings = [
        (node, subject, metric, first, steal[node] if (subject, metric) == ("node", "cpu_steal_seconds_total") else by)
        for node, subject, metric, first, by in made.rich(0.5)
    ]
    pq.write_table(made.table(readings, START, seconds), folder / "metrics.parquet")


def test_it_is_the_share_of_the_node_that_lost_most(tmp_path: Path) -> None:
    record(tmp_path, 12)
    assert stolen(tmp_path, observed()) == pytest.approx(0.2 / 4)
    assert stolen(tmp_path, observed(window=None)) is None


def test_of_a_trial_that_was_stopped_it_is_the_share_until_then(tmp_path: Path) -> None:
    """Its counters end with it, long before the window that was planned."""
    record(tmp_path, 4)
    assert stolen(tmp_path, observed()) is None
    assert stolen(tmp_path, observed(), stopped_s=1.7) == pytest.approx(0.2 / 4)


def test_nothing_is_known_where_no_counters_were_recorded(tmp_path: Path) -> None:
    assert stolen(tmp_path, observed()) is None
