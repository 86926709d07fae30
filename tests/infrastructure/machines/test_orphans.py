"""Nodes whose desk was killed: the next desk waits until they have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import orphans, this_machine
from loadstone.model.errors import DeploymentError
from tests.support.users import User

STOPPED_S = 3.0
"""How long the kernel holds a node: far longer than it takes to end."""


@contextmanager
def node(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A node that its desk speaks to."""
    command = [str(stone_binary()), "node", "--state", str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            process.stdout.readline()
            yield process
        finally:
            process.kill()


@contextmanager
def orphan(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A node that has lost its desk, and that the kernel holds."""
    with node(state) as process:
        lose(process)
        yield process


def lose(process: subprocess.Popen[bytes]) -> None:
    """Hold a process in the kernel, then close its input."""
    assert process.stdin is not None
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # else it may end before it stops
    process.stdin.close()


@contextmanager
def ending(lost: subprocess.Popen[bytes]) -> Iterator[None]:
    """The kernel lets an orphan go on after a while."""
    later = threading.Timer(STOPPED_S, lost.send_signal, [signal.SIGCONT])
    later.start()
    yield
    later.join()


def test_only_a_node_without_a_desk_is_an_orphan_and_of_its_folder_alone(tmp_path: Path) -> None:
    with node(tmp_path / "one") as process, orphan(tmp_path / "two") as lost:
        assert process.poll() is None
        assert orphans.find(str(tmp_path / "one")) == orphans.find(str(tmp_path)) == []
        assert orphans.find(str(tmp_path / "two")) == [lost.pid]


def test_a_keeper_is_an_orphan_of_its_folder_alone(tmp_path: Path) -> None:
    command = [str(stone_binary()), "node", "keep", str(tmp_path / "one")]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as keeper:
        try:
            lose(keeper)
            assert orphans.find(str(tmp_path / "one")) == [keeper.pid]
            assert orphans.find(str(tmp_path / "two")) == []
        finally:
            keeper.kill()


def test_a_channel_to_this_machine_begins_when_orphans_have_ended(tmp_path: Path) -> None:
    with orphan(tmp_path) as lost, ending(lost):
        machine = this_machine(str(tmp_path))
        assert machine.hello.pid not in (lost.pid, os.getpid())
        assert lost.poll() is not None
        machine.close()


def test_an_orphan_that_stays_is_named(tmp_path: Path) -> None:
    with orphan(tmp_path) as lost:
        named = rf"within 0\.1 s: process {lost.pid}\n  wait for it: it may be setting back what it has tuned"
        with pytest.raises(DeploymentError, match=named):
            orphans.wait(str(tmp_path), 0.1)


@pytest.mark.system
def test_down_returns_when_nothing_is_left_although_nothing_is_deployed(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.environment["LOADSTONE_DATA"] = str(tmp_path / "data")
    with orphan(tmp_path / "data") as lost, ending(lost):
        assert user.runs("down").stdout == "nothing is running\n"
        assert lost.poll() is not None


@pytest.mark.root
@pytest.mark.parametrize(("owner", "found"), [("root", True), ("nobody", False)])
def test_what_another_user_starts_delays_no_desk(owner: str, found: bool, open_folder: Path) -> None:
    (open_folder / "node").write_text("echo begun; while sleep 0.1; do :; done")
    state = str(open_folder / "held")
    looks_like_it = ["sh", "node", "--state", state]
    with subprocess.Popen(
        looks_like_it, cwd=open_folder, user=owner, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        assert process.stdout.readline() == b"begun\n"
        assert orphans.find(state) == [process.pid] * found
        process.kill()
