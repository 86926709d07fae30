"""Runs the commands that fill and empty an application of images, and wait for its data."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence

from loadstone.infrastructure import subprocesses
from loadstone.model.application import DataCommands
from loadstone.model.errors import DeploymentError

_WITHIN_S = 60.0
_FILLED_WITHIN_S = 3600.0
"""For one command: it may import gigabytes."""
_INTERVAL_S = 0.5
_LINES = 10


def run(commands: DataCommands, command: str, entries: Sequence[str]) -> None:
    """Run a command to its end; raises DeploymentError with its last lines where it fails, or after an hour."""
    code, printed = _run(commands, command, entries, _FILLED_WITHIN_S)
    if code != 0:
        raise DeploymentError(_failure(command, code, printed))


def wait(commands: DataCommands, command: str, entries: Sequence[str]) -> None:
    """Repeat a command until it succeeds; raises DeploymentError after a minute."""
    end = time.monotonic() + _WITHIN_S
    while True:
        code, printed = _run(commands, command, entries, _WITHIN_S)
        if code == 0:
            return
        if time.monotonic() > end:
            raise DeploymentError(f"after {_WITHIN_S:g} s still: {_failure(command, code, printed)}")
        time.sleep(_INTERVAL_S)


def _run(commands: DataCommands, command: str, entries: Sequence[str], within_s: float) -> tuple[int, str]:
    """The exit code of a command and what it printed. What it started ends with it where it is stopped."""
    environment = os.environ | {"LOADSTONE_ENTRY": entries[0], "LOADSTONE_ENTRIES": ",".join(entries)}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        with subprocesses.child(
            ["sh", "-c", command],
            within_s=within_s,
            cwd=commands.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process:
            code = process.wait()
        output.seek(0)
        return code, output.read()


def _failure(command: str, code: int, printed: str) -> str:
    last = "\n".join(printed.splitlines()[-_LINES:])
    return f"`{command}` ended with exit code {code}" + (f":\n{last}" if last else "")
