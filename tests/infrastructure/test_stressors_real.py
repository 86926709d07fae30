"""Stressors of this machine, really run: what they use, how they end, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.stressors import Stressors
from loadstone.infrastructure.stressors.program import arguments
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Stressor

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path / "data"))
    yield tmp_path
    journal.remove_all()


def node() -> Node:
    cores = this_machine().facts().cpus
    return Node(name="worker-1", role="worker", address="127.0.0.1", cpus=cores[-1:], memory=2**30)


def stressors(**given: object) -> Stressors:
    return Stressors("mine", Stressor.model_validate(given), [node()])


def processes(state: Path) -> list[psutil.Process]:
    """All that have a path of this test in their command line, which their children inherit."""
    return [each for each in psutil.process_iter() if any(str(state) in part for part in _command(each))]


def _command(process: psutil.Process) -> list[str]:
    try:
        found = process.cmdline()
        return found if found and found[0].startswith("stress-ng") else []
    except psutil.Error:
        return []


def first(state: Path) -> psutil.Process:
    """The one that has started the others: a child has its command line until it names itself."""
    found = processes(state)
    [parent] = (each for each in found if each.ppid() not in {other.pid for other in found})
    return parent


def test_what_a_stressor_uses_is_counted_and_held_to_its_limits(state: Path) -> None:
    running = stressors(stressor="cpu", workers=2, limits={"cpu": 0.2})
    running.start()
    [entry] = journal.entries()
    assert (entry.name, entry.layer) == ("mine-neighbour", "interference")
    parent = first(state)
    assert parent.cpu_affinity() == list(node().cpus)
    running.begin_window()
    time.sleep(2)
    running.end_window()
    [reading] = running.stop()
    assert running.problems == []
    # A limit of 0.2 cores is one from above; a busy machine gives less.
    assert 0 < reading.cpu_s <= 0.2 * reading.window_s + 0.1
    assert reading.operations is not None and reading.operations > 0 and reading.operations_per_s
    assert journal.entries() == [] and processes(state) == [] and this_machine().deployments() == ()


def test_writing_is_counted(state: Path) -> None:
    running = stressors(stressor="hdd")
    running.start()
    running.begin_window()
    time.sleep(1)
    [reading] = running.stop()
    assert reading.written is not None and reading.written > 2**20
    assert running.problems == []


@pytest.mark.parametrize("whole", [True, False], ids=["parent", "worker"])
def test_one_that_dies_within_the_window_is_a_problem(state: Path, whole: bool) -> None:
    running = stressors(stressor="cpu", workers=2)
    running.start()
    running.begin_window()
    parent = first(state)
    victim = parent if whole else parent.children()[0]
    os.kill(victim.pid, signal.SIGKILL)
    psutil.wait_procs([victim], timeout=60)
    time.sleep(0.5)
    running.end_window()
    running.stop()
    [problem] = running.problems
    expected = "was killed by SIGKILL" if whole else "has 1 of 2 workers"
    assert problem.startswith("stressor cpu on worker-1") and expected in problem
    assert processes(state) == []


def test_one_that_cannot_work_is_refused_at_once_and_leaves_nothing(state: Path) -> None:
    running = stressors(stressor="vm", limits={"memory": "1MiB"})
    with pytest.raises(DeploymentError, match="stressor vm on worker-1"):
        running.start()
    assert journal.entries() == [] and processes(state) == [] and this_machine().deployments() == ()


def test_another_process_removes_what_a_killed_one_left(state: Path) -> None:
    stressors(stressor="cpu").start()
    assert processes(state)
    assert journal.remove_all(["mine-neighbour"]) == ["mine-neighbour (stressors on worker-1)"]
    assert processes(state) == [] and journal.entries() == []


def test_a_machine_without_stress_ng_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.infrastructure.stressors.program.PROGRAM", "stress-ng-of-nowhere")
    [finding] = Stressors.findings([this_machine()])
    assert finding.level == "error" and "stress-ng-of-nowhere is not installed" in finding.message
    assert "apt-get install" in finding.remedy


def test_memory_that_is_mapped_stays_within_its_limit() -> None:
    stressor = Stressor.model_validate({"stressor": "vm", "workers": 2, "limits": {"memory": "64MiB"}})
    argv = arguments(stressor, "/data", "/data/report.yaml")
    assert argv[:5] == ("stress-ng", "--vm", "2", "--vm-bytes", str(24 * 2**20))
