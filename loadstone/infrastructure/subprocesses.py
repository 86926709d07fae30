"""Instruments as child processes: on the client's cores, and gone when we are, even if we are killed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from loadstone.infrastructure.cores import format_cores

_STOP_GRACE_S = 3.0


def start(command: Sequence[str], cpus: Sequence[int] = (), **options: Any) -> subprocess.Popen[str]:
    """Start ``command`` with the options of Popen. It dies with us."""
    before = [setpriv, "--pdeathsig", "KILL", "--"] if (setpriv := shutil.which("setpriv")) else []
    if cpus and (taskset := shutil.which("taskset")):
        before += [taskset, "-c", format_cores(cpus)]
    return subprocess.Popen([*before, *command], text=True, start_new_session=True, **options)


@contextmanager
def child(command: Sequence[str], cpus: Sequence[int] = (), **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run ``command`` with the options of Popen; on leaving by an exception it is stopped, else awaited."""
    with start(command, cpus, **options) as process:
        try:
            yield process
            process.wait()
        except BaseException:
            stop(process)
            raise


def stop(process: subprocess.Popen[str]) -> None:
    """End a process: politely, then not."""
    process.terminate()
    try:
        process.wait(_STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
