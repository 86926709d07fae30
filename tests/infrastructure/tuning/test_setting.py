"""Knobs of recorded hosts: set, verified, and back byte for byte, whatever comes between."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.tuning import Host, apply, journal, restore, undo
from loadstone.model.errors import PreflightError
from loadstone.model.tuning import Tuning
from tests.infrastructure.tuning import trees
from tests.infrastructure.tuning.conftest import WHOLE
from tests.infrastructure.tuning.kernel import Kernel, put


def told(text: str) -> None:
    """Nobody listens."""


def tuning(**given: Any) -> Tuning:
    return Tuning.model_validate(given)


def policy(kernel: Host, name: str) -> list[str | None]:
    return [kernel.read(file) for file in sorted(kernel.cpu.glob(f"cpufreq/policy*/{name}"))]


def test_everything_is_set_and_comes_back(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    kernel = Kernel.of(tree)
    changes = apply(WHOLE, kernel, told)
    assert kernel.read(kernel.cpu / "online") == "0-1"
    assert kernel.read(kernel.cpu / "intel_pstate/no_turbo") == "1"
    assert policy(kernel, "scaling_governor") == ["performance"] * 2
    assert policy(kernel, "scaling_min_freq") == policy(kernel, "scaling_max_freq") == ["2200000"] * 2
    states = {state.name: kernel.read(state / "disable") for state in kernel.cpu.glob("cpu1/cpuidle/state*")}
    assert states == {"state0": "0", "state1": "0", "state2": "1", "state3": "1"}
    assert kernel.read(kernel.cpu / "intel_uncore_frequency/package_01_die_00/max_freq_khz") == "2000000"
    assert kernel.read(kernel.proc / "swaps") == trees._common(1, "", "")["proc/swaps"].strip()
    assert kernel.read(tree / trees.THP) == "always madvise [never]"
    assert kernel.read(tree / trees.NUMA) == "0"
    assert {change.file.parent.name: change.refused for change in changes if change.knob.key == "irqs"} == {
        "0": "Input/output error",
        "9": "Input/output error",
        "24": "",
        "25": "",
        "26": "",
    }
    assert all(change.before != change.set for change in changes if change.knob.key in ("governor", "turbo", "smt"))
    restored = restore(kernel) if journal.load() is None else undo(kernel)
    assert restored is None
    assert trees.contents(tree) == before
    assert list(state.iterdir()) == []


def test_what_is_left_out_is_not_touched(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    apply(tuning(cstates={"latency": "2us"}, uncore={"max": "1.5GHz"}), Kernel.of(tree), told)
    changed = {name for name, text in trees.contents(tree).items() if text != before.get(name)}
    assert changed == {
        *(f"{trees.CPU}/cpu{core}/cpuidle/state{number}/disable" for core in range(4) for number in (2, 3)),
        *(f"{trees.UNCORE}/package_0{package}_die_00/max_freq_khz" for package in (0, 1)),
    }


def test_the_snapshot_is_on_the_disk_before_the_first_change(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)

    class Watching(Kernel):
        def write(self, file: Path, text: str) -> None:
            if self.steps.taken == 0:
                assert trees.contents(tree) == before
                seen.update(json.loads((state / "tuning.json").read_text()))
            super().write(file, text)

    seen: dict[str, Any] = {}
    kernel = Watching.of(tree)
    apply(WHOLE, kernel, told)
    assert seen["owner"]["pid"] == os.getpid()
    assert seen["boot"] == kernel.boot != ""
    known = {value["file"]: value["before"] for value in seen["values"]}
    # Of threads that go off too, and what changes along.
    for name in ("scaling_governor", "energy_performance_preference", "scaling_min_freq", "scaling_max_freq"):
        assert known[f"{tree}/{trees.CPU}/cpufreq/policy3/{name}"] == trees.INTEL_POLICY[name]
    assert known[f"{tree}/proc/swaps/var/swap file"] == "on 5"
    assert known[f"{tree}/proc/swaps/dev/sda2"] == "on"
    assert json.loads((state / "tuning.json").read_text()) == seen


@pytest.mark.parametrize(
    ("low", "high"), [("0.8GHz", "0.9GHz"), ("2.9GHz", "3GHz"), ("1GHz", "3GHz"), ("2GHz", "2GHz")]
)
def test_the_lowest_frequency_is_never_above_the_highest(tmp_path: Path, low: str, high: str) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    kernel = Kernel.of(tree)  # which refuses it
    apply(tuning(frequency={"min": low, "max": high}), kernel, told)
    assert [f"{int(one or 0) / 1e6:g}GHz" for one in policy(kernel, "scaling_max_freq")] == [high] * 4
    undo(kernel)
    assert trees.contents(tree) == before


def test_turbo_under_its_other_name_changes_the_highest_frequency_along(tmp_path: Path) -> None:
    tree = trees.amd(tmp_path / "tree")
    before = trees.contents(tree)
    kernel = Kernel.of(tree)
    apply(tuning(turbo="off", governor="performance"), kernel, told)
    assert kernel.read(kernel.cpu / "cpufreq/boost") == "0"
    undo(kernel)
    assert trees.contents(tree) == before
    assert policy(kernel, "scaling_max_freq") == ["2000000"] * 2  # not the highest, to which boost has set it


def test_threads_that_go_off_come_back_with_all_that_was_theirs(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    kernel = Kernel.of(tree)
    put(tree / "proc/irq/26/smp_affinity_list", "3")
    put(kernel.cpu / "cpu3/cpuidle/state3/disable", "1")
    before = trees.contents(tree)
    apply(tuning(smt="off"), kernel, told)
    assert kernel.read(tree / "proc/irq/26/smp_affinity_list") == "0-1"
    undo(kernel)
    assert trees.contents(tree) == before


def test_threads_that_were_off_are_tuned_and_off_again(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    kernel = Kernel.of(tree)
    kernel.write(kernel.cpu / "smt/control", "off")
    before = trees.contents(tree)
    apply(tuning(smt="on", governor="performance", cstates=["POLL"]), kernel, told)
    assert policy(kernel, "scaling_governor") == ["performance"] * 4
    undo(kernel)
    after = trees.contents(tree)
    fresh = [name for name in before if name.startswith("hidden/")]  # as a start makes them, which nobody sees
    assert {name: text for name, text in after.items() if name not in fresh} == {
        name: text for name, text in before.items() if name not in fresh
    }
    assert all(after[name] == b"powersave\n" for name in fresh if name.endswith("scaling_governor"))


def test_what_the_host_has_already_is_not_written(tmp_path: Path) -> None:
    tree = trees.vm(tmp_path / "tree")
    kernel = Kernel.of(tree)
    changes = apply(tuning(thp="madvise", numa_balancing="on", swap="off", smt="off"), kernel, told)
    assert kernel.steps.taken == 0
    assert [(change.before, change.set) for change in changes] == [("madvise", "madvise"), ("1", "1")]


@pytest.mark.parametrize(
    ("stubborn", "wrong"),
    [
        ("scaling_governor", "tuning.governor: {}/policy0/scaling_governor: wanted performance, found powersave"),
        ("numa_balancing", "tuning.numa_balancing: {}/numa_balancing: wanted 0, found 1"),
    ],
)
def test_a_value_that_the_kernel_does_not_keep_is_named_and_all_is_back(
    tmp_path: Path, state: Path, stubborn: str, wrong: str
) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    with pytest.raises(PreflightError) as caught:
        apply(WHOLE, Kernel.of(tree, stubborn=(stubborn,)), told)
    place = tree / (f"{trees.CPU}/cpufreq" if "governor" in stubborn else "proc/sys/kernel")
    assert wrong.format(place) in str(caught.value)
    assert "ask for a value that this host keeps" in str(caught.value)
    assert trees.contents(tree) == before
    assert list(state.iterdir()) == []


def test_a_value_that_the_kernel_rounds_is_an_error(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    with pytest.raises(PreflightError, match="wanted 1950000, found 1900000"):
        apply(tuning(uncore={"max": "1.95GHz"}, thp="never"), Kernel.of(tree), told)
    assert trees.contents(tree) == before


@pytest.mark.parametrize("ends", [KeyboardInterrupt, MemoryError])
def test_whatever_ends_it_half_way_all_is_back(tmp_path: Path, state: Path, ends: type[BaseException]) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)

    def interrupt(text: str) -> None:
        if "irqs" in text:
            raise ends

    with pytest.raises(ends):
        apply(WHOLE, Kernel.of(tree), interrupt)
    assert trees.contents(tree) == before
    assert list(state.iterdir()) == []


def test_a_host_that_another_living_process_tunes_is_left_alone(tmp_path: Path, state: Path) -> None:
    kernel = Kernel.of(trees.intel(tmp_path / "tree"))
    apply(tuning(thp="never"), kernel, told)
    entry = journal.load()
    assert entry is not None
    parent = journal.Owner(pid=os.getppid(), started=journal._started(os.getppid()), command="loadstone run a.yaml")
    journal.save(entry.model_copy(update={"owner": parent}))
    tuned = trees.contents(tmp_path / "tree")
    refusal = rf"is tuned by process {os.getppid()} \(loadstone run a.yaml\), which still runs"
    for attempt in (lambda: restore(kernel), lambda: apply(tuning(thp="always"), kernel, told)):
        with pytest.raises(PreflightError, match=refusal) as caught:
            attempt()
        assert caught.value.exit_code == 3
    undo(kernel)  # not ours
    assert trees.contents(tmp_path / "tree") == tuned
    assert journal.load() is not None


def test_an_owner_of_the_same_number_that_started_later_is_another(tmp_path: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    kernel = Kernel.of(tree)
    apply(tuning(thp="never"), kernel, told)
    entry = journal.load()
    assert entry is not None
    journal.save(entry.model_copy(update={"owner": entry.owner.model_copy(update={"started": 1})}))
    restored = restore(kernel)
    assert restored is not None
    assert restored.values == {f"{tree}/{trees.THP}": ("never", "always")}
    assert "1 value set back, all verified" in restored.sentence
    assert trees.contents(tree) == before
    assert restore(kernel) is None


def test_after_a_restart_the_values_are_the_kernels_own(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    kernel = Kernel.of(tree)
    apply(tuning(thp="never"), kernel, told)
    put(tree / trees.BOOT, "another")
    put(tree / trees.THP, "always [madvise] never")
    restored = restore(kernel)
    assert restored is not None and "was restarted since" in restored.sentence
    assert kernel.read(tree / trees.THP) == "always [madvise] never"
    assert list(state.iterdir()) == []


def test_a_value_that_cannot_be_set_back_is_named_and_the_journal_stays(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    apply(tuning(numa_balancing="off", thp="never"), Kernel.of(tree), told)
    with pytest.raises(PreflightError) as caught:
        undo(Kernel.of(tree, stubborn=("numa_balancing",)))
    assert f"{tree}/{trees.NUMA}: is 0, was 1" in str(caught.value)
    assert trees.THP not in str(caught.value)
    assert journal.load() is not None
    undo(Kernel.of(tree))
    assert list(state.iterdir()) == []


def test_an_interrupt_whose_device_went_has_nothing_to_come_back(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    kernel = Kernel.of(tree)
    apply(tuning(irqs=[0]), kernel, told)
    (tree / "proc/irq/24/smp_affinity_list").unlink()
    undo(kernel)
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}'])
def test_a_damaged_journal_is_named(tmp_path: Path, state: Path, text: str) -> None:
    state.mkdir()
    (state / "tuning.json").write_text(text)
    with pytest.raises(PreflightError, match=r"tuning\.json: not a readable journal .* it is damaged"):
        restore(Kernel.of(trees.vm(tmp_path / "tree")))


def test_a_journal_cannot_make_us_write_elsewhere(tmp_path: Path, state: Path) -> None:
    tree = trees.vm(tmp_path / "tree")
    kernel = Kernel.of(tree)
    victims = [tmp_path / "victim", tree / "sys/../../victim"]
    (tmp_path / "victim").write_text("as it was")
    values = [journal.Value(knob="thp", file=str(victim), before="[never]") for victim in victims]
    owner = journal.Owner(pid=1, started=1)
    state.mkdir()
    journal.save(journal.Entry(boot=kernel.boot, owner=owner, tuning="", values=values))
    with pytest.raises(PreflightError, match="is no value of the kernel's"):
        restore(kernel)
    assert (tmp_path / "victim").read_text() == "as it was"


def test_without_room_for_the_journal_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("LOADSTONE_HOST_STATE", str(blocked / "state"))
    with pytest.raises(PreflightError, match="cannot be used: Not a directory"):
        apply(WHOLE, Kernel.of(tree), told)
    assert trees.contents(tree) == before
