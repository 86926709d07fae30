"""Settings of all tests, and the budget of the pure ones."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clusters import cluster_user, shared_clusters
from tests.support.folders import open_folder, own_folders
from tests.support.servers import server

__all__ = ["cluster_user", "open_folder", "own_folders", "server", "shared_clusters"]

BUDGET_S = 60.0
"""CPU seconds of a test without a marker. Of the processor, not of the clock, so that waiting costs nothing; three
times the most that any was seen to use, on a machine whose cores a neighbour slowed down to half: it is for tests that
belong under a marker, not for slow machines."""

FAILURES = "LOADSTONE_TEST_FAILURES"
"""Names the file in which scripts/test.sh collects what failed in all of its checks."""

FREE = ("slow", "servers", "system", "root", "docker", "clusters", "nomad", "kubernetes", "long")
"""Markers of tests without a budget."""

# Tests run beside each other and beside other work; none of them is a measurement.
os.environ["LOADSTONE_SHARED_OK"] = "1"

# A slow machine makes a slow test, not a red one. There are many properties: half of the usual examples are for each.
settings.register_profile("patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a pure test that uses more CPU time than its budget, that of its subprocesses included."""
    before = cpu_s()
    yield
    used = cpu_s() - before
    if used > BUDGET_S and not any(item.get_closest_marker(name) for name in FREE):
        pytest.fail(
            f"used {used:.1f} s of CPU, a pure test may use {BUDGET_S:g}: make it smaller or mark it", pytrace=False
        )


def cpu_s() -> float:
    """CPU seconds of this process and of the subprocesses that it has waited for."""
    return sum(os.times()[:4])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add each failure, with how it ended, to the file that scripts/test.sh shows at its end."""
    if file := os.environ.get(FAILURES):
        failed = [report for outcome in ("failed", "error") for report in terminalreporter.getreports(outcome)]
        with Path(file).open("a") as notes:
            notes.writelines(f"{report.nodeid} ({report.when})\n{ending(report.longreprtext)}\n" for report in failed)


def ending(text: str, lines: int = 6) -> str:
    """The lines of a failure's report that name the error: the first that pytest marks with E, else the last."""
    marked = [line for line in text.splitlines() if line.startswith("E ")][:lines] or text.splitlines()[-lines:]
    return "\n".join(f"    {line[:500]}" for line in marked)
