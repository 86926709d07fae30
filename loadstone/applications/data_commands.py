"""Runs the commands that fill and empty an application of images, and wait for its data."""

from __future__ import annotations

import os
import subprocess
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
    result = _run(commands, command, entries, _FILLED_WITHIN_S)
    if result.returncode != 0:
        raise DeploymentError(_failure(command, result))


def wait(commands: DataCommands, command: str, entries: Sequence[str]) -> None:
    """Repeat a command until it succeeds; raises DeploymentError after a minute."""
    end = time.monotonic() + _WITHIN_S
    while (result := _run(commands, command, entries)).returncode != 0:
        if time.monotonic() > end:
            raise DeploymentError(f"after {_WITHIN_S:g} s still: {_failure(command, result)}")
        time.sleep(_INTERVAL_S)


def _run(
    commands: DataCommands, command: str, entries: Sequence[str], within_s: float = _WITHIN_S
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LOADSTONE_ENTRY": entries[0], "LOADSTONE_ENTRIES": ",".join(entries)}
    return subprocesses.run(
        ["sh", "-c", command],
        within_s,
        cwd=commands.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        capture_output=False,
        errors="replace",
    )


def _failure(command: str, result: subprocess.CompletedProcess[str]) -> str:
    last = "\n".join(result.stdout.splitlines()[-_LINES:])
    return f"`{command}` ended with exit code {result.returncode}" + (f":\n{last}" if last else "")
