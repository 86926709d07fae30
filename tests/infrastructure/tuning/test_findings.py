"""What machines have and take, and what of them disturbs, in words."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.infrastructure.tuning import distinct, disturbances, inventory, knob_values, on_each, preflight
from loadstone.model.errors import PreflightError
from loadstone.model.records.node.tuning import Conditions, KnobsAnswer, KnobValues
from loadstone.model.tuning import Tuning
from tests.infrastructure.tuning.fake import QUIET, SERVER, FakeMachine


def tuning(**given: Any) -> Tuning:
    return Tuning.model_validate(given)


def test_every_key_of_a_study_reaches_the_node_without_units() -> None:
    assert set(KnobValues.model_fields) == set(Tuning.model_fields)
    given = {
        "governor": "performance",
        "frequency": "2.2GHz",
        "turbo": False,
        "smt": "off",
        "cstates": {"latency": "10us"},
        "uncore": {"max": "2GHz"},
        "swap": "off",
        "thp": "never",
        "numa_balancing": "off",
        "irqs": [0, 3],
    }
    assert knob_values(tuning(**given)).model_dump(exclude_none=True) == {
        **given,
        "turbo": "off",
        "frequency": {"min": 2_200_000_000, "max": 2_200_000_000},
        "cstates": {"latency": pytest.approx(1e-5)},
        "uncore": {"max": 2_000_000_000},
        "irqs": (0, 3),
    }
    assert knob_values(tuning(cstates=["POLL", "C1"])).model_dump(exclude_none=True) == {
        "cstates": {"names": ("POLL", "C1")}
    }


def test_what_a_machine_has() -> None:
    machine = FakeMachine()
    assert inventory(machine.knobs(KnobValues())).message.startswith("smt (on, off); governor (on, off); thp (on, off)")
    nothing = KnobsAnswer(knobs=(), problems=(), conditions=QUIET)
    assert inventory(nothing).message == "this machine has no knobs that a study could set"


def test_what_a_machine_lacks() -> None:
    machine = FakeMachine()
    (found,) = preflight(tuning(thp="never", turbo="off"), machine)
    assert (found.level, found.what, found.message) == ("error", "tuning.turbo", "this machine has no turbo")
    (fine,) = preflight(tuning(thp="never"), machine)
    assert (fine.level, fine.message) == ("ok", "thp:never can be set here, and is undone")


def warned(found: Conditions, *settled: str) -> dict[str, str]:
    findings = disturbances(found, frozenset(settled))
    assert {finding.level for finding in findings} <= {"warning"}
    assert all(finding.remedy for finding in findings)
    return {finding.what: f"{finding.message}; {finding.remedy}" for finding in findings}


def test_what_disturbs_on_a_server() -> None:
    found = warned(SERVER)
    assert list(found) == ["governor", "turbo", "hardware threads", "huge pages", "swap", "irqbalance"]
    assert "the governor is powersave" in found["governor"]
    assert found["governor"].endswith("tuning: {governor: performance}")
    assert found["huge pages"].endswith("tuning: {thp: madvise}")
    assert list(warned(SERVER, "governor", "turbo", "thp", "smt", "swap")) == ["irqbalance"]
    assert warned(QUIET) == {}


def test_what_disturbs_in_a_virtual_machine() -> None:
    found = warned(QUIET.model_copy(update={"stolen": 0.1, "governors": (), "missing": ("power", "frequencies")}))
    assert list(found) == ["virtual machine", "counters"]
    assert "10.0% of its processors' time" in found["virtual machine"]
    assert "does not show power (powercap or perf), frequencies (cpufreq): results" in found["counters"]


def test_machines_that_share_a_kernel_are_one() -> None:
    machines = [FakeMachine("a", "1"), FakeMachine("b", "2"), FakeMachine("c", "1")]
    assert [machine.name for machine in distinct(machines)] == ["a", "b"]


def test_work_on_several_goes_to_its_end_on_each() -> None:
    first, second = FakeMachine("a", "1"), FakeMachine("b", "2")
    first.stuck = "swap is refused"
    answers, errors = on_each([first, second], lambda machine: machine.restore())
    assert answers == {"b": None}
    assert [str(error) for error in errors] == ["a: swap is refused"]
    assert all(isinstance(error, PreflightError) for error in errors)
