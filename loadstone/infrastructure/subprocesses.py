"""Child processes: each has a deadline, and instruments end when this process does, even where it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from loadstone.infrastructure.cores import format_cores
from loadstone.model.errors import DeploymentError

QUICK_S = 60.0
"""For a command that needs no time to speak of, on a machine whose cores are all at work."""
_SLOWEST_COPY = 1e6
"""Bytes per second at which a file is read, sent or unpacked at the least."""
_STOP_GRACE_S = 3.0


class OutOfTime(DeploymentError):
    """A child process did not end, or did nothing, within its deadline; it was killed."""


def run(command: Sequence[str | Path], within_s: float = QUICK_S, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with the options of ``subprocess.run``; its outputs are captured as text, whatever bytes
    they are.

    Any exit code is the caller's to judge. Raises OutOfTime after ``within_s`` seconds.
    """
    settings = {"capture_output": True, "text": True, "errors": "replace", "check": False, **options}
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(command, timeout=within_s, **settings)
        return done
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"`{' '.join(map(str, command))[:200]}` did not end within {within_s:g} s") from None


def time_to_copy(file: Path) -> float:
    """How long a command may take that reads all of a file, in seconds."""
    return QUICK_S + file.stat().st_size / _SLOWEST_COPY


class Watchdog:
    """Use as a context manager: kills a process, and its group where it leads one, ``within_s`` after the last
    ``renew``."""

    def __init__(self, process: subprocess.Popen[str], within_s: float) -> None:
        self.expired = False
        self._process = process
        self._within_s = within_s
        self._until = time.monotonic() + within_s
        self._done = threading.Event()

    def renew(self) -> None:
        """The process has made progress: its time begins again."""
        self._until = time.monotonic() + self._within_s

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _watch(self) -> None:
        while (left := self._until - time.monotonic()) > 0:
            if self._done.wait(left):
                return
        self.expired = True
        _send(self._process, signal.SIGKILL)


def start(command: Sequence[str], cpus: Sequence[int] = (), **options: Any) -> subprocess.Popen[str]:
    """Start ``command`` with the options of Popen, as the leader of a process group. It dies with us.

    What it writes to a pipe is read as text, whatever bytes they are.
    """
    pinned = [taskset, "-c", format_cores(cpus)] if cpus and (taskset := shutil.which("taskset")) else []
    settings = {"text": True, "errors": "replace", "start_new_session": True, **options}
    started: subprocess.Popen[str] = subprocess.Popen(with_us([*pinned, *command]), **settings)
    return started


def with_us(command: Sequence[str]) -> list[str]:
    """The command line of a command that the kernel kills when the thread that starts it ends, however it does."""
    return [*([setpriv, "--pdeathsig", "KILL", "--"] if (setpriv := shutil.which("setpriv")) else []), *command]


@contextmanager
def child(
    command: Sequence[str], cpus: Sequence[int] = (), within_s: float = float("inf"), **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Run ``command`` with the options of Popen; on leaving by an exception it is stopped, else awaited.

    Raises OutOfTime where it lives longer than ``within_s`` seconds.
    """
    with (
        start(command, cpus, **options) as process,
        Watchdog(process, min(within_s, threading.TIMEOUT_MAX)) as watchdog,
    ):
        try:
            yield process
            process.wait()
        except BaseException:
            stop(process)
            raise
        if watchdog.expired:
            raise OutOfTime(f"`{' '.join(command)[:200]}` did not end within {within_s:g} s")


def stop(process: subprocess.Popen[str]) -> None:
    """End a process with its group: politely, then not."""
    _send(process, signal.SIGTERM)
    try:
        process.wait(_STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        _send(process, signal.SIGKILL)
        process.wait()


def _send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to a process that was not reaped yet, so its number is still its own."""
    if process.poll() is not None:
        return
    if os.getpgid(process.pid) == process.pid:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
