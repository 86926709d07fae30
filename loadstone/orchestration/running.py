"""Processes that outlive whoever started them: start, know again, signal, kill."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from loadstone.infrastructure.cores import format_cores

_NAME = "loadstone"


@dataclass(frozen=True)
class Identity:
    """A process that cannot be mistaken for a later one of the same id: ``started`` is in ticks since boot."""

    pid: int
    started: int


def spawn(
    argv: list[str],
    environment: dict[str, str],
    log: Path,
    record: Path,
    groups: list[Path],
    folder: str = "/",
    user: str | None = None,
    cores: tuple[int, ...] = (),
) -> int:
    """Start a process in a session of its own, its output appended to ``log``; returns its id.

    ``user`` is changed to if we are root; ``cores`` bind it where no control group does.
    """
    if user is not None and os.geteuid() == 0:
        argv = [*_become_user(user), *argv]
    if cores:
        argv = ["taskset", "-c", format_cores(cores), *argv]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", _script(record, groups, folder), _NAME, *argv],
        {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **environment},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them, and children would inherit that
    )


def _script(record: Path, groups: list[Path], folder: str) -> str:
    """What the new process does before it is replaced by the service; any step that fails ends it."""
    return "\n".join(
        [
            "set -e",
            f"cat /proc/$$/stat >{shlex.quote(str(record))}",
            *(f"echo $$ >{shlex.quote(str(file))}" for file in groups),
            f"cd {shlex.quote(folder)}",
            'ulimit -n "$(ulimit -Hn)"',
            'exec "$@"',
        ]
    )


def _become_user(user: str) -> list[str]:
    group = pwd.getpwnam(user).pw_gid
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", "--"]


def run_as(argv: list[str], user: str | None) -> subprocess.CompletedProcess[str]:
    """Run a short command to its end, as ``user`` if we are root, with its output caught. It dies with us."""
    become = _become_user(user) if user is not None and os.geteuid() == 0 else ["setpriv"]
    argv = [*become[:1], "--pdeathsig", "KILL", *become[1:], *argv]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    return subprocess.run(argv, env=environment, cwd="/", capture_output=True, text=True, check=False)


def recorded(record: Path) -> Identity | None:
    """Who wrote a record; None if nobody did yet."""
    try:
        return _parse(record.read_text())
    except (OSError, ValueError, IndexError):
        return None


def is_alive(identity: Identity) -> bool:
    """Whether exactly that process still runs.

    A zombie does not, but its first thread becomes one before its other threads have ended; until they have,
    it holds what it held and nobody can take it off the process table (proc(5): ``num_threads``).
    """
    try:
        stat = Path(f"/proc/{identity.pid}/stat").read_text()
        state, *numbers = stat.rpartition(")")[2].split()
        return _parse(stat) == identity and (state not in "ZX" or int(numbers[16]) > 1)
    except (OSError, ValueError, IndexError):
        return False


def _parse(stat: str) -> Identity:
    """proc(5): the id, the name in parentheses (which may hold anything), the state, and 18 fields to the start."""
    return Identity(int(stat.split(" ", 1)[0]), int(stat.rpartition(")")[2].split()[19]))


def exit_code(pid: int) -> int | None:
    """The exit code of an ended child of ours, negative for a signal; None if it is another's or runs."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def stop(processes: Sequence[tuple[Identity, str]], grace_s: float) -> None:
    """Send each process its signal, in order, and wait until all have ended; those left are killed with their kin."""
    for identity, name in processes:
        if is_alive(identity):
            with contextlib.suppress(ProcessLookupError):
                os.kill(identity.pid, getattr(signal, f"SIG{name}"))
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and any(is_alive(identity) for identity, _ in processes):
        time.sleep(0.02)
    for identity, _ in processes:
        if is_alive(identity):
            _kill_family(identity.pid)
        exit_code(identity.pid)  # takes our own child off the process table


def _kill_family(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        family = [*parent.children(recursive=True), parent]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=10)
