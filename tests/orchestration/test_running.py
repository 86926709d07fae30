from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from loadstone.orchestration import running
from loadstone.orchestration.running import Identity


def wait_for_record(record: Path) -> Identity:
    end = time.monotonic() + 30
    while (identity := running.recorded(record)) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    return identity


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Identity]]:
    identities: list[Identity] = []
    yield identities
    for identity in identities:
        running.stop([(identity, "KILL")], 5)


def spawn(tmp_path: Path, script: str, started: list[Identity], **more: object) -> Identity:
    arguments = {"environment": {"WORD": "a b"}, "log": tmp_path / "log", "groups": []} | more
    pid = running.spawn(["/bin/sh", "-c", script], record=tmp_path / "record", **arguments)  # type: ignore[arg-type]
    started.append(wait_for_record(tmp_path / "record"))
    assert started[-1].pid == pid
    return started[-1]


def wait_dead(identity: Identity) -> None:
    end = time.monotonic() + 30
    while running.is_alive(identity):
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for_text(log: Path, text: str) -> None:
    end = time.monotonic() + 60
    while text not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)


def test_a_process_has_its_own_session_environment_and_log(tmp_path: Path, started: list[Identity]) -> None:
    script = 'echo "$WORD ${HOME-none}"; echo complaint >&2; pwd; exec sleep 60'
    identity = spawn(tmp_path, script, started, folder=str(tmp_path))
    wait_for_text(tmp_path / "log", f"{tmp_path}\n")
    assert (tmp_path / "log").read_text() == f"a b none\ncomplaint\n{tmp_path}\n"
    assert os.getsid(identity.pid) == identity.pid
    assert running.is_alive(identity)
    assert running.exit_code(identity.pid) is None


def test_a_zombie_is_not_alive_and_its_exit_code_is_told_once(tmp_path: Path, started: list[Identity]) -> None:
    identity = spawn(tmp_path, "exit 7", started)
    wait_dead(identity)
    assert running.exit_code(identity.pid) == 7
    assert running.exit_code(identity.pid) is None


LEADERLESS = """\
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall(60, 0)  # ends this thread alone
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of a system call is this machine's")
def test_a_process_lives_until_its_last_thread_ended(tmp_path: Path, started: list[Identity]) -> None:
    script = tmp_path / "leaderless.py"
    script.write_text(LEADERLESS)
    identity = spawn(tmp_path, f"exec {sys.executable} {script}", started)
    end = time.monotonic() + 60
    while Path(f"/proc/{identity.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < end
        time.sleep(0.01)
    assert running.is_alive(identity)
    assert running.exit_code(identity.pid) is None
    running.stop([(identity, "KILL")], 30)
    assert not Path(f"/proc/{identity.pid}").exists()


def test_what_died_with_many_threads_tells_its_exit_code_at_once(tmp_path: Path, started: list[Identity]) -> None:
    many = "import threading, time; [threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(30)]"
    identity = spawn(tmp_path, f"exec {sys.executable} -c '{many}; print(1, flush=True); time.sleep(60)'", started)
    wait_for_text(tmp_path / "log", "1\n")
    os.kill(identity.pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while running.is_alive(identity):  # without a pause: the moment between is what this is about
        assert time.monotonic() < end
    assert running.exit_code(identity.pid) == -signal.SIGKILL


def test_an_id_used_again_is_another_process(tmp_path: Path) -> None:
    own = running._parse(Path("/proc/self/stat").read_text())
    assert running.is_alive(own)
    assert not running.is_alive(Identity(own.pid, own.started - 1))


def test_a_name_with_parentheses_and_spaces_does_not_confuse() -> None:
    stat = "12 (a) b (c) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99"
    assert running._parse(stat) == Identity(12, 4711)


def test_stop_is_gentle_first_and_kills_the_whole_family_then(tmp_path: Path, started: list[Identity]) -> None:
    gentle = spawn(tmp_path, "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.05; done", started)
    wait_for_text(tmp_path / "log", "hello")
    running.stop([(gentle, "TERM")], 30)
    assert not running.is_alive(gentle)
    assert "bye" in (tmp_path / "log").read_text()
    (tmp_path / "record").unlink()
    stubborn = spawn(tmp_path, "trap '' TERM; sleep 60 & wait", started)
    end = time.monotonic() + 30
    while not (children := psutil.Process(stubborn.pid).children()) and time.monotonic() < end:
        time.sleep(0.01)
    running.stop([(stubborn, "TERM")], 0.2)
    assert not running.is_alive(stubborn)
    psutil.wait_procs(children, timeout=30)
    assert not any(child.is_running() and child.status() != "zombie" for child in children)


def test_what_cannot_join_its_group_does_not_run(tmp_path: Path, started: list[Identity]) -> None:
    groups = [tmp_path / "absent" / "cgroup.procs"]
    identity = spawn(tmp_path, "echo running", started, groups=groups)
    wait_dead(identity)
    assert running.exit_code(identity.pid) not in (0, None)
    assert "running" not in (tmp_path / "log").read_text()


def test_it_does_not_inherit_that_we_ignore_broken_pipes(tmp_path: Path, started: list[Identity]) -> None:
    identity = spawn(tmp_path, "echo running; exec sleep 60", started)
    wait_for_text(tmp_path / "log", "running")
    status = Path(f"/proc/{identity.pid}/status").read_text()
    ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), 16)
    assert not ignored & 1 << (signal.SIGPIPE - 1)


def test_cores_bind_where_no_group_does(tmp_path: Path, started: list[Identity]) -> None:
    core = max(os.sched_getaffinity(0))
    identity = spawn(tmp_path, "echo bound; exec sleep 60", started, cores=(core,))
    wait_for_text(tmp_path / "log", "bound")
    assert os.sched_getaffinity(identity.pid) == {core}


def test_no_record_or_a_broken_one_is_no_process(tmp_path: Path) -> None:
    assert running.recorded(tmp_path / "none") is None
    (tmp_path / "record").write_text("")
    assert running.recorded(tmp_path / "record") is None
