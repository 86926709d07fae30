"""A run that is interrupted removes what it started, whatever has become of the terminal that shows its progress."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from rich.text import Text

from loadstone.cli.app import out
from loadstone.cli.console import SafeConsole
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.wall_clock import offset_of
from loadstone.infrastructure.machines import Machine
from loadstone.model.errors import Interrupted
from tests.experiments.fakes import write_study
from tests.support.users import LOADSTONE, wait

REPOSITORY = Path(__file__).parents[2]

RUN = """
import os, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from loadstone import plugins
from loadstone.cli import entry, main
from loadstone.cli.progress import Display
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.interruption import interruptible
from tests.support.plans import read_plan
from loadstone.model.errors import DeploymentError
from tests.experiments.fakes import FakeDriver, FakeInfrastructure, FakeOrchestrator, provenance

home, hangs, sent = Path(sys.argv[1]), sys.argv[2] == "hangs", [int(number) for number in sys.argv[3:]]


class Orchestrator(FakeOrchestrator):
    def remove(self):
        while sent:
            os.kill(os.getpid(), sent.pop(0))
        if hangs:
            time.sleep(60)
        super().remove()
        (home / "removed").touch()


class Driver(FakeDriver):
    def run(self, *given):
        (home / "loading").touch()
        while not (home / "ends").exists():
            time.sleep(0.05)
        raise DeploymentError("ended by the test")


find = plugins.find
plugins.find = lambda layer, name: Orchestrator if layer == "orchestrators" else find(layer, name)


def study(arguments, prog_name):
    with interruptible(), Display() as display:
        document, plan = read_plan(home / "study.yaml")
        folder = runs.create(home / "results", document, plan, [], provenance())
        ledger = runs.ledger_of(folder, plan.study)
        infrastructure = FakeInfrastructure(plan.study.cluster, "fake")
        Conductor(plan, ledger, infrastructure, Driver(), display).run()


main.typer.main.get_command = lambda app: SimpleNamespace(main=study)
entry.main()
"""


class Study:
    """A study of fake layers that waits in its first trial; its removal sends itself signals, or hangs."""

    def __init__(self, home: Path, stderr: int, removal: str = "", sent: tuple[int, ...] = ()) -> None:
        write_study(home)
        stone = home / "stone"
        stone.write_text("#!/bin/sh\nexit 0\n")
        stone.chmod(0o755)
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(home), removal, *map(str, sent)],
            cwd=REPOSITORY,
            env={**os.environ, "LOADSTONE_STONE": str(stone), "LOADSTONE_STATE": str(home / "state")},
            stderr=stderr,
            stdout=subprocess.DEVNULL,
            # A study that ignores it, as below `nohup`, goes on by intention.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        wait((home / "loading").exists)

    def ends_by(self, number: signal.Signals) -> int:
        """Send a signal; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    @property
    def removed(self) -> bool:
        """Whether its deployment was removed."""
        return (self.home / "removed").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_it_removes_all_whose_progress_has_no_reader(tmp_path: Path, number: signal.Signals) -> None:
    read, write = os.pipe()
    study = Study(tmp_path, write)
    os.close(write)
    os.close(read)  # as `tee` ends by the same Ctrl-C
    assert study.ends_by(number) == Interrupted.exit_code
    assert study.removed


def test_it_removes_all_when_its_terminal_is_gone(tmp_path: Path) -> None:
    ours, terminal = os.openpty()
    study = Study(tmp_path, terminal)
    os.close(terminal)
    os.close(ours)
    assert study.ends_by(signal.SIGHUP) == Interrupted.exit_code
    assert study.removed


def test_it_removes_all_when_the_disk_below_its_progress_is_full(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        study = Study(tmp_path, full.fileno())
    assert study.ends_by(signal.SIGINT) == Interrupted.exit_code
    assert study.removed


def test_a_second_ctrl_c_ends_a_removal_that_hangs_and_names_the_remedy(tmp_path: Path) -> None:
    study = Study(tmp_path, subprocess.PIPE, "hangs", (signal.SIGHUP, signal.SIGINT))
    study.process.send_signal(signal.SIGINT)
    _, printed = study.process.communicate(timeout=60)
    assert study.process.returncode == Interrupted.exit_code and not study.removed
    assert printed.decode().endswith("ended by a second SIGINT; remove what is left with: loadstone down\n")


def test_an_interruption_in_the_middle_of_a_removal_does_not_leave_half_of_it(tmp_path: Path) -> None:
    study = Study(tmp_path, subprocess.DEVNULL, "", (signal.SIGTERM,))
    (tmp_path / "ends").touch()
    assert study.process.wait(60) == Interrupted.exit_code
    assert study.removed


def test_a_run_of_nohup_goes_on_when_its_terminal_closes() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_before_the_first_trial_ends_a_run_as_later(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.yaml")
    run = subprocess.Popen([LOADSTONE, "run", "study.yaml", "--shared-ok"], cwd=tmp_path, stderr=subprocess.PIPE)
    with (tmp_path / "study.yaml").open("w"):  # once it reads the study
        run.terminate()
        _, complaint = run.communicate(timeout=60)
    assert (run.returncode, b"interrupted by SIGTERM" in complaint) == (130, True)


def test_a_signal_during_a_request_to_a_machine_is_no_answer_of_the_machine() -> None:
    class Slow:
        name = "worker"

        def clock(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match="SIGINT"), interruptible():
        offset_of(cast(Machine, Slow()))


def test_text_of_others_cannot_command_the_terminal() -> None:
    shown = io.StringIO()
    console = SafeConsole(file=shown, force_terminal=True, width=80, highlight=False)
    console.print("\x1b]0;title\x07 \x9b31m red", style="bold", markup=False)
    console.print(Text("\x1b[2J gone\r\n\tkept"))
    bold, reset = "\x1b[1m", "\x1b[0m"
    assert shown.getvalue().replace(bold, "").replace(reset, "") == "]0;title 31m red\n[2J gone\n        kept\n"


def test_text_of_others_is_shown_as_it_is() -> None:
    with out.capture() as shown:
        out.print("service :bee: of 3", markup=False)
    assert shown.get() == "service :bee: of 3\n"
