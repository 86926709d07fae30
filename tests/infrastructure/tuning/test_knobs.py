"""What hosts have and take, before anything is changed; and what of them disturbs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.tuning import Host, disturbances, inventory, preflight
from loadstone.infrastructure.tuning.knobs import KNOBS, asked, touched
from loadstone.model.tuning import Tuning
from tests.infrastructure.tuning import trees
from tests.infrastructure.tuning.conftest import WHOLE
from tests.infrastructure.tuning.kernel import Kernel, put

Machine = Callable[[Path], Path]


def tuning(**given: Any) -> Tuning:
    return Tuning.model_validate(given)


def test_every_key_of_a_study_has_its_knob() -> None:
    assert {knob.key for knob in KNOBS} == set(Tuning.model_fields)
    assert [knob.key for knob, _ in asked(WHOLE)] == [knob.key for knob in KNOBS]
    order = [knob.key for knob in KNOBS]
    assert all(order.index(knob.key) < order.index(key) for knob in KNOBS for key in knob.disturbs)
    assert [knob.key for knob in touched(tuning(turbo="off", thp="never"))] == ["turbo", "frequency", "thp"]


def test_what_each_machine_has(tmp_path: Path) -> None:
    assert inventory(Kernel.of(trees.intel(tmp_path / "intel"))).message == (
        "smt (on, off); turbo (on, off); governor (performance, powersave); frequency (800MHz to 3GHz);"
        " cstates (POLL (0us), C1 (2us), C1E (10us), C6 (133us)); uncore (1.2GHz to 2.4GHz);"
        " thp (always, madvise, never); numa_balancing (on, off); swap (on, off); irqs (cores 0-3)"
    )
    assert inventory(Kernel.of(trees.amd(tmp_path / "amd"))).message == (
        "smt (off); turbo (on, off); governor (conservative, ondemand, userspace, powersave, performance, schedutil);"
        " frequency (1.5GHz to 2.8GHz); cstates (POLL (0us), C1 (1us), C2 (400us)); thp (always, madvise, never);"
        " numa_balancing (on, off); swap (on, off); irqs (cores 0-1)"
    )
    assert inventory(Kernel.of(trees.vm(tmp_path / "vm"))).message == (
        "smt (off); cstates (POLL (0us), haltpoll (1us)); thp (always, madvise, never); numa_balancing (on, off);"
        " swap (on, off); irqs (cores 0-1)"
    )
    assert inventory(Kernel.of(tmp_path)).message == "this machine has no knobs that a study could set"


@pytest.mark.parametrize(
    ("machine", "given", "message", "remedy"),
    [
        (trees.intel, {"governor": "ondemand"}, "policy0/scaling_governor: has no governor 'ondemand'",
         "choose one of: performance, powersave"),
        (trees.intel, {"frequency": "3.1GHz"}, "policy0/scaling_min_freq: 3.1GHz is out of range",
         "choose between 800MHz and 3GHz"),
        (trees.intel, {"frequency": {"min": "700MHz"}}, "policy0/scaling_min_freq: 700MHz is out of range",
         "choose between 800MHz and 3GHz"),
        (trees.amd, {"frequency": "1.8GHz"}, "scaling_min_freq: 1.8GHz is between two steps of this processor",
         "choose one of: 2.8GHz, 2GHz, 1.5GHz"),
        (trees.intel, {"cstates": ["POLL", "C0"]}, "no idle state is called 'C0'",
         "choose of: POLL (0us), C1 (2us), C1E (10us), C6 (133us); C0 is no idle state, it is to run"),
        (trees.intel, {"uncore": "3GHz"}, "package_00_die_00/min_freq_khz: 3GHz is out of range",
         "choose between 1.2GHz and 2.4GHz"),
        (trees.amd, {"smt": "on"}, "smt/control: hardware threads cannot be turned on here, it says notsupported",
         "now they are off"),
        (trees.amd, {"swap": "on"}, "proc/swaps: no swap is on", "leave tuning.swap out"),
        (trees.amd, {"uncore": "2GHz"}, "this machine has no driver intel_uncore_frequency",
         "leave it out; knobs that it has: smt, turbo, governor, frequency, cstates, thp, numa_balancing, swap, irqs"),
        (trees.vm, {"governor": "performance"}, "this machine has no governors of frequency",
         "leave it out; knobs that it has: smt, cstates, thp, numa_balancing, swap, irqs"),
        (trees.vm, {"turbo": "off"}, "this machine has no switch of turbo", "leave it out"),
        (trees.vm, {"irqs": [1, 2, 3]}, "core 2-3 is not there, or off", "choose of: 0-1"),
    ],
)  # fmt: skip
def test_what_a_machine_lacks_is_named_with_what_it_has(
    tmp_path: Path, machine: Machine, given: dict[str, Any], message: str, remedy: str
) -> None:
    (found,) = preflight(tuning(**given), Kernel.of(machine(tmp_path)))
    assert (found.level, found.what) == ("error", f"tuning.{next(iter(given))}")
    assert message in found.message
    assert remedy in found.remedy


def test_what_a_machine_takes_changes_nothing_before_its_time(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path)
    before = trees.contents(tree)
    (found,) = preflight(WHOLE, Kernel.of(tree))
    assert (found.level, found.message) == ("ok", f"{WHOLE} can be set here, and is undone")
    assert trees.contents(tree) == before


class Closed(Kernel):
    def may_write(self, file: Path) -> bool:
        return file.name != "enabled"


class Unprivileged(Closed):
    @property
    def root(self) -> bool:
        return False


def test_files_that_cannot_be_written_are_found_before(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path)
    (found,) = preflight(tuning(thp="never", swap="off"), Closed.of(tree))
    assert "transparent_hugepage/enabled cannot be written, not even by root: it is mounted read-only" in found.message
    thp, swap = preflight(tuning(thp="never", swap="off"), Unprivileged.of(tree))
    assert "only root may write" in thp.message and thp.remedy == "use sudo, or leave it out"
    assert "proc/swaps/dev/sda2" in swap.message


def test_whether_a_file_can_be_written_is_asked_of_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("1")
    assert Host().may_write(file)
    assert not Host().may_write(tmp_path / "nothing")
    assert Host().root == (os.geteuid() == 0)


def warned(host: Host, *settled: str) -> dict[str, str]:
    found = disturbances(host, frozenset(settled))
    assert {finding.level for finding in found} <= {"warning"}
    assert all(finding.remedy for finding in found)
    return {finding.what: f"{finding.message}; {finding.remedy}" for finding in found}


def test_what_disturbs_on_a_server(tmp_path: Path) -> None:
    host = Kernel.of(trees.intel(tmp_path))
    found = warned(host)
    knobs = ["governor", "turbo", "hardware threads", "huge pages", "swap"]
    assert list(found) == [*knobs, "irqbalance"]
    assert "the governor is powersave" in found["governor"]
    assert found["governor"].endswith("tuning: {governor: performance}")
    assert found["huge pages"].endswith("tuning: {thp: madvise}")
    assert list(warned(host, "governor", "turbo", "thp", "smt", "swap")) == ["irqbalance"]


def test_what_disturbs_in_a_virtual_machine(tmp_path: Path) -> None:
    host = Kernel.of(trees.vm(tmp_path))
    found = warned(host)
    assert list(found) == ["virtual machine", "counters"]
    assert "10.0% of their time" in found["virtual machine"]
    assert "does not show power (powercap or perf), frequencies (cpufreq): results" in found["counters"]


def test_a_host_that_is_tuned_disturbs_no_more(tmp_path: Path) -> None:
    host = Kernel.of(trees.amd(tmp_path))
    assert list(warned(host)) == ["governor", "turbo", "counters"]
    put(host.cpu / "cpufreq/boost", "0")
    for file in host.cpu.glob("cpufreq/policy*/scaling_governor"):
        put(file, "performance")
    assert list(warned(host)) == ["counters"]
