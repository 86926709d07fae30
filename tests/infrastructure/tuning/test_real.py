"""This machine's own knobs: really set, and really back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.infrastructure.tuning import Host, apply, journal, preflight, restore, undo
from loadstone.model.tuning import Tuning

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("root_only")]

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
NUMA = Path("/proc/sys/kernel/numa_balancing")


def wanted(host: Host) -> Tuning:
    """Something else than what is there, of the knobs that disturb nobody; C-states where there are any."""
    given: dict[str, object] = {}
    if host.may_write(THP):
        given["thp"] = "never" if "[never]" not in THP.read_text() else "madvise"
    if host.may_write(NUMA):
        given["numa_balancing"] = "on" if NUMA.read_text().strip() == "0" else "off"
    states = sorted(host.cpu.glob("cpu0/cpuidle/state*/name"))
    if len(states) > 1 and host.may_write(states[0].with_name("disable")):
        given["cstates"] = [file.read_text().strip() for file in states[:-1]]
    if not given:
        pytest.skip("nothing can be set here")
    return Tuning.model_validate(given)


def values(tuning: Tuning, host: Host) -> dict[Path, str]:
    files = [THP, NUMA] if tuning.cstates is None else [THP, NUMA, *host.cpu.glob("cpu*/cpuidle/state*/disable")]
    return {file: file.read_text() for file in files if file.exists()}


def test_real_knobs_are_set_and_set_back() -> None:
    host = Host()
    tuning = wanted(host)
    assert [finding.level for finding in preflight(tuning, host)] == ["ok"]
    before = values(tuning, host)
    changes = apply(tuning, host, lambda text: None)
    try:
        assert values(tuning, host) != before
        assert any(change.before != change.set for change in changes)
        if tuning.thp is not None:
            assert f"[{tuning.thp}]" in THP.read_text()
    finally:
        undo(host)
    assert values(tuning, host) == before


def test_real_knobs_are_set_back_after_a_kill() -> None:
    host = Host()
    tuning = wanted(host)
    before = values(tuning, host)
    script = (
        "import os, signal, sys\n"
        "from loadstone.infrastructure.tuning import Host, apply\n"
        "from loadstone.model.tuning import Tuning\n"
        "apply(Tuning.model_validate_json(sys.argv[1]), Host(), print)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    try:
        given = tuning.model_dump_json(exclude_none=True)
        killed = subprocess.run([sys.executable, "-c", script, given], check=False, capture_output=True)
        assert killed.returncode == -9, killed.stderr
        assert values(tuning, host) != before
    finally:
        restored = restore(host)
    assert restored is not None and restored.values
    assert values(tuning, host) == before
    assert journal.load() is None
