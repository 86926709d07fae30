"""Where the ``stone`` binary is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.model.errors import LoadstoneError, PreflightError

_REFERENCE_S = 30.0
"""A machine that takes so long for it has no speed worth a number."""


def stone_binary() -> Path:
    """``$LOADSTONE_STONE``, else that of an installed wheel, of a checkout, or ``stone`` on the PATH."""
    given = os.environ.get("LOADSTONE_STONE")
    package = Path(__file__).resolve().parents[1]
    places = (package / "bin" / "stone", package.parent / ".build" / "stone")
    there = next((file for file in places if file.exists()), None)
    found = given or there or shutil.which("stone")
    if not found or not os.access(found, os.X_OK):
        where = f"LOADSTONE_STONE={given}" if given else "neither in a wheel, nor as .build/stone, nor on the PATH"
        raise PreflightError(f"the stone binary is missing: {where}", "build it with `make setup`")
    return Path(found).resolve()


def reference_ms() -> float | None:
    """How long a computation that is always the same takes on this machine, now; None where it cannot be timed.

    About 60 ms of processor time in 15 parts (encoding JSON, as services do), of which this is the median, in
    milliseconds.
    """
    try:
        command = [str(stone_binary()), "reference"]
        result = subprocesses.run(command, _REFERENCE_S, check=True)
        return float(result.stdout)
    except (OSError, ValueError, subprocess.SubprocessError, LoadstoneError):
        return None


def stone_version() -> str:
    """What ``stone version`` prints."""
    result = subprocesses.run([stone_binary(), "version"])
    return result.stdout.strip() or "unknown"
