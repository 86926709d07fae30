"""``kill -9`` at every step of the way: whoever comes later finds the host as it was before, byte for byte."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.infrastructure.tuning import apply, journal, restore
from loadstone.infrastructure.tuning.base import Host
from loadstone.model.tuning import Tuning
from tests.infrastructure.tuning import trees
from tests.infrastructure.tuning.conftest import WHOLE
from tests.infrastructure.tuning.kernel import Kernel, Steps, put

ITS_OWN = ("open", "fsync", "replace", "close")
"""What the journal asks of the system: the process may die before each, too, and before the journal is removed."""


def in_another_process(work: Callable[[], Any]) -> int:
    """Do it in a child; returns its exit code, -9 if it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dying(steps: Steps, work: Callable[[], Any]) -> Callable[[], Any]:
    """The work, with each of the journal's own steps a moment at which the process may be killed."""

    def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            steps.take()
            return real(*given, **named)

        return step

    def prepared() -> Any:
        own = {name: stepping(getattr(os, name)) for name in ITS_OWN}
        vars(journal).update(os=SimpleNamespace(**{**vars(os), **own}), remove=stepping(journal.remove))
        return work()

    return prepared


def killed_at(last: int, tree: Path, work: Callable[[Host], Any]) -> bool:
    """Work in a process that is killed at that step; whether it was, or was done before."""
    steps = Steps(last)
    code = in_another_process(dying(steps, lambda: work(Kernel.of(tree, steps))))
    assert code in (0, -signal.SIGKILL)
    return code != 0


def as_before(tree: Path, before: dict[str, bytes], state: Path) -> bool:
    return trees.contents(tree) == before and not (state / "tuning.json").exists()


def lay(tree: Path, wanted: dict[str, bytes]) -> None:
    """Make a tree hold exactly these files."""
    there = trees.contents(tree)
    for name in there.keys() - wanted.keys():
        (tree / name).unlink()
        for folder in (tree / name).parents:
            if not any(folder.iterdir()):
                folder.rmdir()
    for name, text in wanted.items():
        if there.get(name) != text:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(text)


def tune(tuning: Tuning) -> Callable[[Host], Any]:
    return lambda host: apply(tuning, host, lambda text: None)


@pytest.mark.parametrize("machine", [trees.intel, trees.amd], ids=["intel", "amd"])
def test_killed_at_every_step_of_tuning(machine: Callable[[Path], Path], tmp_path: Path, state: Path) -> None:
    tree = machine(tmp_path / "tree")
    before = trees.contents(tree)
    keys = {"thp", "numa_balancing", "irqs", "turbo", "governor"}
    tuning = WHOLE if machine is trees.intel else Tuning.model_validate(WHOLE.model_dump(include=keys))
    last, half_done = 1, 0
    while killed_at(last, tree, tune(tuning)):
        half_done += trees.contents(tree) != before
        restore(Kernel.of(tree))
        assert as_before(tree, before, state), f"killed at step {last}"
        last += 1
    assert half_done > 8 and trees.contents(tree) != before
    restore(Kernel.of(tree))
    assert as_before(tree, before, state)


def test_killed_at_every_step_of_restoring(tmp_path: Path, state: Path) -> None:
    tree = trees.intel(tmp_path / "tree")
    before = trees.contents(tree)
    assert in_another_process(lambda: tune(WHOLE)(Kernel.of(tree))) == 0
    tuned, written = trees.contents(tree), (state / "tuning.json").read_bytes()
    last = 1
    while killed_at(last, tree, restore):
        restore(Kernel.of(tree))
        assert as_before(tree, before, state), f"killed at step {last}"
        lay(tree, tuned)
        (state / "tuning.json").write_bytes(written)
        last += 1
    assert last > 30
    assert as_before(tree, before, state)


FREQUENCIES = st.integers(10, 22).map(lambda tenths: f"{tenths / 10}GHz")
RANGES = st.tuples(FREQUENCIES, FREQUENCIES).map(lambda ends: {"min": min(ends), "max": max(ends)})
SWITCH = st.sampled_from(["on", "off"])
ANY = st.fixed_dictionaries(
    {},
    optional={
        "governor": st.sampled_from(["performance", "powersave"]),
        "frequency": RANGES,
        "turbo": SWITCH,
        "smt": SWITCH,
        "cstates": st.lists(st.sampled_from(["POLL", "C1", "C1E", "C6"]), min_size=1, unique=True),
        "swap": SWITCH,
        "thp": st.sampled_from(["always", "madvise", "never"]),
        "numa_balancing": SWITCH,
        "irqs": st.lists(st.integers(0, 1), min_size=1, unique=True),
    },
).filter(bool)


@settings(max_examples=25)
@given(
    wanted=ANY,
    steps=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    governor=st.sampled_from(["performance", "powersave"]),
    highest=st.sampled_from(["1500000", "2600000"]),
    thp=st.sampled_from(["always", "madvise", "never"]),
    deepest=st.sampled_from(["0", "1"]),
)
def test_any_tuning_of_any_host_killed_several_times(
    tmp_path_factory: pytest.TempPathFactory,
    wanted: dict[str, Any],
    steps: list[int],
    governor: str,
    highest: str,
    thp: str,
    deepest: str,
) -> None:
    """The tuning is killed at the first step, its restorations at the others; the last restoration is whole."""
    folder = tmp_path_factory.mktemp("any")
    os.environ["LOADSTONE_HOST_STATE"] = str(folder / "state")  # set by the fixture, which puts it back
    tree = trees.intel(folder / "tree")
    kernel = Kernel.of(tree)
    kernel.write(tree / trees.THP, thp)
    for file in kernel.cpu.glob("cpufreq/policy*/scaling_governor"):
        kernel.write(file, governor)
        put(file.with_name("scaling_max_freq"), highest)
        put(kernel.cpu / file.parent.name.replace("policy", "cpu") / "cpuidle/state3/disable", deepest)
    before = trees.contents(tree)
    killed_at(steps[0], tree, tune(Tuning.model_validate(wanted)))
    for last in steps[1:]:
        killed_at(last, tree, restore)
    restore(Kernel.of(tree))
    assert as_before(tree, before, folder / "state")
