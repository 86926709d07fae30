"""Where the binaries are: ``stone``, for all machines, and ``stone-compose``, for the desk."""

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
    if given := os.environ.get("LOADSTONE_STONE"):
        if not os.access(given, os.X_OK):
            raise PreflightError(f"the stone binary is missing: LOADSTONE_STONE={given}", "build it with `make setup`")
        return Path(given).resolve()
    return _found("stone")


def compose_loader() -> Path:
    """The program ``stone-compose``: that of an installed wheel, of a checkout, or on the PATH."""
    return _found("stone-compose")


def _found(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    places = (package / "bin" / name, package.parent / ".build" / name)
    found = next((file for file in places if file.exists()), None) or shutil.which(name)
    if not found or not os.access(found, os.X_OK):
        where = f"neither in a wheel, nor as .build/{name}, nor on the PATH"
        raise PreflightError(f"the {name} binary is missing: {where}", "build it with `make setup`")
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
