"""Programs that make machines (``vagrant``, ``tofu``): in the deployment's folder, where they keep their own state.

Where this process is killed, the program goes on until its state is written; what removes the machines waits for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from loadstone.infrastructure import subprocesses
from loadstone.model.errors import DeploymentError, PreflightError

_LOG = "program.log"
_PID = "program.pid"
_LAST = 15
_SECRET = re.compile(r"PASS|SECRET|TOKEN|KEY|CREDENTIAL", re.I)
_EVERY_S = 0.2


def find(names: Sequence[str], remedy: str) -> str:
    """The first that is installed. Raises PreflightError."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise PreflightError(f"{' or '.join(names)} is not installed", remedy)


def output(command: Sequence[str], folder: Path, within_s: float) -> str:
    """What a command that changes nothing prints on its standard output. Raises DeploymentError."""
    done = subprocesses.run(command, within_s, cwd=folder, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise DeploymentError(f"`{_shown(command)}` failed: {_end(done.stderr)}")
    return done.stdout


def run(command: Sequence[str], folder: Path, within_s: float) -> None:
    """Run a command to its end. Raises DeploymentError with its last lines, without the values of secrets."""
    _wait_for_earlier(folder, within_s)
    log = folder / _LOG
    with open(log, "w", encoding="utf-8") as output, open(os.devnull, "rb") as nothing:
        process = subprocess.Popen(
            command, cwd=folder, stdin=nothing, stdout=output, stderr=output, start_new_session=True
        )
        (folder / _PID).write_text(str(process.pid), encoding="utf-8")
    try:
        code = process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        raise DeploymentError(
            f"`{_shown(command)}` did not end within {within_s / 60:g} minutes: {_end(_read(log))}"
        ) from None
    except BaseException:  # interrupted, it writes its state and ends
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        process.wait()
        raise
    if code != 0:
        raise DeploymentError(
            f"`{_shown(command)}` failed: {_end(_read(log))}", "correct what it names, then run again"
        )


def _wait_for_earlier(folder: Path, within_s: float) -> None:
    """Until what a killed process has left running has ended."""
    deadline = time.monotonic() + within_s
    while _works(folder):
        if time.monotonic() > deadline:
            raise DeploymentError(f"{folder}: a program that was started before still works there", "try again later")
        time.sleep(_EVERY_S)


def _works(folder: Path) -> bool:
    try:
        process = psutil.Process(int((folder / _PID).read_text(encoding="utf-8")))
        return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder.resolve()
    except (OSError, ValueError, psutil.Error):
        return False


def _read(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def _shown(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:]])[:200]


def _end(printed: str) -> str:
    """The last lines. What environment variables with secret names hold is left out."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= 8:
            text = text.replace(value, "***")
    lines = [line.strip(" │╷╵\t") for line in text.splitlines() if line.strip(" │╷╵\t")]
    return "\n  ".join(lines[-_LAST:]) or "it printed nothing"
