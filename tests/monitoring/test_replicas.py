from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.deployment import Deployment
from loadstone.model.records.node.replicas import Used
from loadstone.monitoring.replicas import UsageWindow
from tests.experiments.fakes import FakeOrchestrator
from tests.support.standings import used


class Counting(FakeOrchestrator):
    """An orchestrator whose replicas use more at each reading."""

    readings = 0
    peaks = True

    def usage(self) -> dict[str, Used]:
        self.readings += 1
        n = self.readings
        return {
            replica.name: used(
                cpu_s=1.5 * n, periods=10 * n, throttled_periods=4 * n, throttled_s=0.25 * n,
                memory=1000 * n, memory_peak=2000 * n, oom_kills=n - 1, pids=3,
            )
            for replica in self.deployment.replicas
            if n == 1 or replica.service != "frontend"
        }  # fmt: skip

    def new_peaks(self) -> bool:
        return self.peaks


def test_a_row_is_the_difference_of_two_readings(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 100.2, 102.0, 102.2])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    window = UsageWindow(Counting(deployment, Path()))
    window.start()
    window.stop()
    rows = {row.replica: row for row in window.rows()}
    geo = rows["geo-1"].model_dump()
    assert 0 < geo.pop("from_ns") <= geo.pop("to_ns")
    assert set(rows) == {"memcached-geo-1", "documents-geo-1", "geo-1"}  # the front end was gone at the end
    assert geo == {
        "replica": "geo-1", "service": "geo", "tier": "logic", "node": "worker-1", "window_s": 2.0,
        "cpu_s": 1.5, "cpu": 0.75, "cpu_limit": 0.25, "periods": 10, "throttled_periods": 4, "throttled_s": 0.25,
        "memory": 2000, "memory_peak": 4000, "memory_peak_of": "window", "memory_limit": 32 * 2**20,
        "oom_kills": 1, "processes": 3,
    }  # fmt: skip


def test_a_window_that_never_began_has_no_rows_and_one_that_was_cut_short_has(deployment: Deployment) -> None:
    window = UsageWindow(Counting(deployment, Path()))
    assert window.rows() == [] and window.seen_ns() is None
    window.start()
    assert len(window.rows()) == 3
    seen = window.seen_ns()
    assert seen is not None and seen.from_ns <= seen.to_ns


def test_what_is_not_counted_stays_unknown(deployment: Deployment) -> None:
    class Blind(Counting):
        peaks = False

        def usage(self) -> dict[str, Used]:
            return {"geo-1": used(memory=5)}

    window = UsageWindow(Blind(deployment, Path()))
    window.start()
    (row,) = window.rows()
    assert row.throttled_s is None and row.oom_kills is None and row.memory_peak is None
    assert row.memory_peak_of == "life"
    assert row.cpu_s == 0
