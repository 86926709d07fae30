"""The binaries of cluster software: taken from the PATH where the version fits, else built once from Go modules."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.builds.compiling import build, obstacle
from loadstone.infrastructure.builds.recipes import Recipe, recipe

_ANSWER_S = 20.0
"""How long a program on the PATH may take to say its version."""


def binary(name: str, say: Say) -> Path:
    """The program of that name: ``nomad``, ``consul`` or ``kubernetes`` (one binary that holds every program of it).

    It may be built for that, which takes minutes; ``say`` is told how far it is, about once a second. Raises
    PreflightError with the remedy where it cannot be built.
    """
    wanted = recipe(name)
    found, _ = _on_path(wanted)
    return found or build(wanted, say)


def missing(name: str) -> Finding:
    """Whether the program is there, can be built (a warning that says what that takes), or cannot be had (an error)."""
    wanted = recipe(name)
    found, version = _on_path(wanted)
    if found:
        return Finding(name, "ok", f"{found} {version}")
    if wanted.cached.exists():
        return Finding(name, "ok", f"{wanted.cached} {wanted.version}")
    unfit = f" ({shutil.which(name)} is {version})" if version else ""
    if lacking := obstacle(wanted):
        message = f"{name} {wanted.version} is not there{unfit} and cannot be built: {lacking[0]}"
        return Finding(name, "error", message, lacking[1])
    minutes = math.ceil(wanted.cpu_s / 2 / 60)
    message = (
        f"{name} {wanted.version} is not there{unfit} and will be built, once: some {minutes} minutes on two free"
        f" cores, {wanted.download_mb} MB to download, {wanted.disk_mb / 1000:.1f} GB of disk"
    )
    return Finding(name, "warning", message, f"to do it ahead: {sys.executable} -m {__name__} {name}")


def _on_path(wanted: Recipe) -> tuple[Path | None, str]:
    """The program on the PATH if it is of the same minor version; and its version, empty if there is none."""
    found = shutil.which(wanted.name) if wanted.on_path else None
    if found is None:
        return None, ""
    try:
        said = subprocess.run([found, "version"], capture_output=True, text=True, check=False, timeout=_ANSWER_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    match = re.search(r"\bv(\d+\.\d+)\.\d+\S*", said)
    if match is None:
        return None, "of an unknown version"
    fits = match[1] == wanted.version.rpartition(".")[0]
    return (Path(found).absolute() if fits else None), match[0].removeprefix("v")
