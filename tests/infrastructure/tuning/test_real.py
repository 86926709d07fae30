"""Knobs set by a real ``stone node``: of a recorded tree and of this machine; back whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import Machine, MachineLost, NodeError, transport
from loadstone.infrastructure.tuning import knob_values, preflight
from loadstone.model.cluster import Reach
from loadstone.model.records.node.tuning import KnobValues
from loadstone.model.tuning import Tuning

GOVERNOR = "devices/system/cpu/cpufreq/policy0/scaling_governor"
PERFORMANCE = knob_values(Tuning(governor="performance"))
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
WITHIN_S = 120


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the journal that is not this machine's."""
    monkeypatch.setenv("LOADSTONE_HOST_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def governor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a recorded governor, which nodes take for this machine's."""
    file = tmp_path / "sys" / GOVERNOR
    file.parent.mkdir(parents=True)
    file.write_text("powersave\n")
    file.with_name("scaling_available_governors").write_text("performance powersave\n")
    stone = tmp_path / "stone"
    stone.write_text(f'#!/bin/sh\nexec {stone_binary()} "$@" --sys {tmp_path}/sys\n')
    stone.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(stone))
    return file


@pytest.fixture
def machine() -> Iterator[Machine]:
    machine = Machine("here", transport(Reach()))
    yield machine
    machine.close()


def test_set_verified_and_set_back(governor: Path, machine: Machine) -> None:
    knobs: list[str] = []
    (change,) = machine.tune(PERFORMANCE, "loadstone run a.yaml", knobs.append)
    assert (change.before, change.set, change.refused, knobs) == ("powersave", "performance", "", ["governor"])
    assert governor.read_text() == "performance\n"
    assert machine.verify() == ()
    governor.write_text("powersave\n")
    assert [difference.found for difference in machine.verify()] == ["powersave"]
    restored = machine.restore()
    assert restored is not None and restored.owner.command == "loadstone run a.yaml"
    assert machine.restore() is None
    with pytest.raises(NodeError, match="has not tuned this host"):
        machine.verify()


def test_a_knob_that_a_machine_lacks_is_an_error_with_a_remedy(governor: Path, machine: Machine) -> None:
    (found,) = preflight(Tuning(uncore="2GHz"), machine)  # type: ignore[arg-type]
    assert found.message.startswith("this machine has no driver intel_uncore_frequency")
    with pytest.raises(NodeError, match=r"here: tuning\.uncore: this machine has no driver") as caught:
        machine.tune(knob_values(Tuning(uncore="2GHz")), "", print)  # type: ignore[arg-type]
    assert caught.value.kind == "missing"


def test_after_the_node_was_killed_another_sets_back(governor: Path, machine: Machine) -> None:
    machine.tune(PERFORMANCE, "loadstone run a.yaml", print)
    os.kill(machine.hello.pid, signal.SIGKILL)
    with pytest.raises((MachineLost, NodeError)):  # lost, or a new node that has not tuned
        while True:
            machine.verify()
    assert governor.read_text() == "performance\n"
    restored = machine.restore()  # by a new node
    assert restored is not None
    assert [(value.found, value.before) for value in restored.values] == [("performance", "powersave")]
    assert governor.read_text() == "powersave\n"


def test_while_a_node_tunes_others_are_refused(governor: Path, machine: Machine) -> None:
    machine.tune(PERFORMANCE, "loadstone run a.yaml", print)
    other = Machine("here", transport(Reach()))
    try:
        for attempt in (other.restore, lambda: other.tune(PERFORMANCE, "", print)):
            with pytest.raises(NodeError, match=r"is tuned by process \d+ \(loadstone run a.yaml\), which still runs"):
                attempt()
    finally:
        other.close()
    assert governor.read_text() == "performance\n"


DESK = """
import os, signal, sys
from loadstone.infrastructure.machines import Machine, transport
from loadstone.model.cluster import Reach
from loadstone.model.records.node.tuning import KnobValues
Machine("here", transport(Reach())).tune(KnobValues.model_validate_json(sys.argv[1]), "loadstone run a.yaml", print)
print(open(sys.argv[2]).read(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_desk(values: KnobValues, file: Path) -> str:
    """What a file holds as a desk has tuned, which is killed then."""
    given = [values.model_dump_json(exclude_none=True), str(file)]
    killed = subprocess.run([sys.executable, "-c", DESK, *given], check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    return killed.stdout.splitlines()[-2 if not killed.stdout.splitlines()[-1] else -1]


def wait_for(file: Path, text: str) -> None:
    end = time.monotonic() + WITHIN_S
    while file.read_text() != text:
        assert time.monotonic() < end, f"{file} is {file.read_text()!r}"
        time.sleep(0.05)


def test_after_the_desk_was_killed_its_node_sets_back(governor: Path, state: Path) -> None:
    assert killed_desk(PERFORMANCE, governor) == "performance"
    wait_for(governor, "powersave\n")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_this_machines_own_knobs(machine: Machine) -> None:
    if not os.access(THP, os.W_OK):
        pytest.skip("huge pages cannot be set here")
    before = THP.read_text()
    wanted = "never" if "[never]" not in before else "madvise"
    values = knob_values(Tuning.model_validate({"thp": wanted}))
    try:
        machine.tune(values, "", print)
        assert f"[{wanted}]" in THP.read_text()
    finally:
        machine.close()
    assert THP.read_text() == before
    assert f"[{wanted}]" in killed_desk(values, THP)
    wait_for(THP, before)
