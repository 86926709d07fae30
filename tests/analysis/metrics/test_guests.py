"""Virtual machines from both sides: the host's numbers, the guest's, and what lies between them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.analysis import metrics
from loadstone.analysis.run import open_run
from tests import observed
from tests.synthetic import Synthetic

QEMU = {"worker-1": (3.0, 9e9), "worker-2": (1.5, 7e9)}
"""Cores and bytes that the host counts."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run on two workers, as if they were guests of a host."""
    folder = Synthetic(name="guests", rates=[200], duration_s=2).write(tmp_path)
    observed.observe(folder)
    observed.in_guests(folder, QEMU)
    return folder


def test_the_overhead_is_what_the_host_counted_and_the_guest_did_not(run: Path) -> None:
    tables = metrics.gather(open_run(run)).tables
    guests, nodes = tables["metrics_guests"].to_pylist(), tables["metrics_nodes"].to_pylist()
    own = {row["node"]: row for row in nodes}
    assert set(own) == {"worker-1", "worker-2", "client", "host"} and not own["host"]["replicas"]
    assert [row["node"] for row in guests] == list(QEMU)
    for row in guests:
        cores, memory = QEMU[row["node"]]
        inside = own[row["node"]]
        assert (row["host_cores"], row["host_memory_bytes"]) == pytest.approx((cores, memory))
        assert (row["guest_cores"], row["guest_memory_bytes"]) == (inside["cpu_cores"], inside["memory_used_bytes"])
        assert row["overhead_cores"] == pytest.approx(cores - inside["cpu_cores"])
        assert row["overhead_memory_bytes"] == pytest.approx(memory - inside["memory_used_bytes"])
        assert row["host_switches_per_s"] == own["host"]["context_switches_per_s"] > 0
        assert row["guest_switches_per_s"] == inside["context_switches_per_s"] > 0


def test_what_one_side_did_not_count_has_no_overhead(run: Path) -> None:
    for place in (run / "trials").iterdir():
        table = pq.read_table(place / "metrics.parquet")
        kept = [
            (subject, metric) != ("replica:guest/worker-1", "container_memory_bytes")
            for subject, metric in zip(table["subject"].to_pylist(), table["metric"].to_pylist(), strict=True)
        ]
        pq.write_table(table.filter(pa.array(kept)), place / "metrics.parquet")
    first, second = metrics.gather(open_run(run)).tables["metrics_guests"].to_pylist()
    assert (first["host_memory_bytes"], first["overhead_memory_bytes"]) == (None, None)
    assert first["overhead_cores"] is not None and second["overhead_memory_bytes"] is not None
