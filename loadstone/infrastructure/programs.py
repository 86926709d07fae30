"""Store software as this machine has it: where the programs are, and which versions."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.software import STONE, AsProcess

_VERSION_S = 20.0


def find(process: AsProcess) -> str | None:
    """The first of the places where the program is, else what was built of it; of versions in a glob, the newest."""
    for place in process.program:
        if place == STONE:
            return str(stone_binary())
        if "/" not in place:
            if found := shutil.which(place):
                return found
            continue
        if matches := [path for path in matching(place) if os.access(path, os.X_OK)]:
            return str(max(matches, key=_by_numbers))
    if process.build is not None:
        from loadstone.infrastructure.builds.recipes import recipe  # with all that builds need: few software has one

        if (built := recipe(process.build).cached).exists():
            return str(built)
    return None


def remedy(process: AsProcess) -> str:
    """How to get what is not there."""
    install = f"install {process.package}"
    if process.build is None:
        return install
    return f"{install}, or build it, once: {sys.executable} -m loadstone.infrastructure.builds {process.build}"


def matching(pattern: str) -> list[Path]:
    """The files and folders of a path or glob, sorted."""
    folder = Path(pattern).anchor or "."
    return sorted(Path(folder).glob(str(Path(pattern).relative_to(folder))))


def _by_numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


@functools.cache
def version(program: str) -> str:
    """The version number that a program says of itself."""
    for option in ("--version", "-v", "version"):  # nginx knows the second alone, jaeger the third
        try:
            result = subprocesses.run([program, option], _VERSION_S, stdin=subprocess.DEVNULL)
        except subprocesses.OutOfTime:  # it serves, whatever the option
            continue
        if result.returncode != 0:
            continue
        if match := re.search(r"\d+(\.\d+)+", result.stdout + result.stderr):
            return match.group(0)
    return "unknown"
