"""What happens to machines in a trial: a wall clock is stepped, a channel is lost and comes back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiments import wall_clock
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.resume import reopen
from loadstone.infrastructure import machines
from loadstone.infrastructure.machines import Machine, Transport
from loadstone.model.cluster import Node, Reach
from loadstone.model.records.summary import TrialSummary
from tests.experiments.fakes import STUDY, Conduct, FakeDriver, FakeInfrastructure
from tests.infrastructure.machines.fakes import FakeTransport
from tests.support.users import wait

STEPS = pytest.mark.parametrize(("step_s", "warned"), [(3600, True), (-3600, True), (0.05, True), (0.001, False)])


class Disturbing(FakeDriver):
    """Disturbs the first trial."""

    def __init__(self, disturb: Callable[[], object]) -> None:
        super().__init__()
        self._disturb = disturb

    def run(self, *given: Any) -> TrialSummary:
        if not self.ran:
            self._disturb()
        return super().run(*given)


class Elsewhere(FakeInfrastructure):
    """Its worker is reached by another channel than this machine."""

    reach = Reach(transport="ssh", options={"host": __name__})

    def sketch(self, software: str, managers: int) -> list[Node]:
        client, worker = super().sketch(software, managers)
        return [client, worker.model_copy(update={"reach": self.reach})]


class ManagedElsewhere(FakeInfrastructure):
    """It has a manager, which is reached by another channel than this machine."""

    def sketch(self, software: str, managers: int) -> list[Node]:
        client, worker = super().sketch(software, managers)
        return [
            worker.model_copy(update={"name": "manager", "role": "manager", "reach": Elsewhere.reach}),
            client,
            worker,
        ]


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """The nanoseconds by which the worker's wall clock is ahead."""
    file = tmp_path / "ahead"
    file.write_text("0")
    return file


@pytest.fixture
def worker(clock: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """The worker's machine: a fake node, which is a process."""
    usual = machines.transport

    def transport(reach: Reach) -> Transport:
        return FakeTransport(str(clock)) if reach == Elsewhere.reach else usual(reach)

    monkeypatch.setattr(machines, "transport", transport)
    monkeypatch.setattr(machines, "_machines", {})
    machine = machines.connect("worker", Elsewhere.reach)
    yield machine
    machine.close()


def trials(folder: Path) -> list[FinishedTrial]:
    """The trials of a run, in their order."""
    return sorted(reopen(folder)[1].records, key=lambda record: record.row.order)


def check_steps(folder: Path, name: str, warned: bool) -> None:
    """The first trial alone has a warning that names the machine; no verdict changes."""
    finished = trials(folder)
    stepped = [record.row.order for record in finished if f"wall clock of {name}" in " ".join(record.row.warnings)]
    assert stepped == ([1] if warned else [])
    verdicts = sorted({(record.outcome.load, record.outcome.verdict) for record in finished})
    assert verdicts == [(100, "held"), (200, "held"), (300, "not held")]


@STEPS
def test_a_step_of_this_machines_wall_clock(
    conduct: Conduct, monkeypatch: pytest.MonkeyPatch, step_s: float, warned: bool
) -> None:
    offset = {"s": 0.0}
    monkeypatch.setattr(wall_clock, "offset_s", lambda: offset["s"])
    folder = conduct(STUDY, Disturbing(lambda: offset.update(s=step_s)))
    check_steps(folder, "this machine", warned)


@STEPS
def test_a_step_of_one_nodes_wall_clock(
    conduct: Conduct, clock: Path, worker: Machine, step_s: float, warned: bool
) -> None:
    folder = conduct(STUDY, Disturbing(lambda: clock.write_text(str(round(step_s * 1e9)))), Elsewhere)
    check_steps(folder, "worker", warned)


@pytest.mark.parametrize("returns", [True, False])
def test_a_channel_that_is_lost_makes_its_trial_invalid_although_it_comes_back(
    conduct: Conduct, worker: Machine, returns: bool
) -> None:
    def kill() -> None:
        os.kill(worker.hello.pid, signal.SIGKILL)
        wait(lambda: len(worker.losses) == 1)
        if returns:
            worker.clock()

    first, *others = trials(conduct(STUDY, Disturbing(kill), Elsewhere))
    assert (first.outcome.verdict, first.row.reasons) == (
        "invalid",
        (
            "worker: its node has ended (killed by signal 9): "
            "its counters and limits were not observed throughout the trial",
        ),
    )
    assert "invalid" not in {record.outcome.verdict for record in others}


def test_a_manager_whose_channel_is_lost_is_a_warning(conduct: Conduct, worker: Machine) -> None:
    """A highly available cluster goes on without one, and it runs no replica."""

    def kill() -> None:
        os.kill(worker.hello.pid, signal.SIGKILL)
        wait(lambda: len(worker.losses) == 1)

    first, *others = trials(conduct(STUDY, Disturbing(kill), ManagedElsewhere))
    assert first.outcome.verdict == "held"
    lost = "its node has ended (killed by signal 9): its counters were not observed throughout the trial"
    assert [warning.partition(": ")[2] for warning in first.row.warnings if "observed" in warning] == [lost]
    assert not any("observed" in warning for record in others for warning in record.row.warnings)
