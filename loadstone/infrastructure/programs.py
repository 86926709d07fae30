"""Store software as this machine has it: where the programs are, and which versions."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from loadstone.model.software import AsProcess


def find(process: AsProcess) -> str | None:
    """The first of the places where the program is; of several versions that a glob finds, the newest."""
    for place in process.program:
        if "/" not in place:
            if found := shutil.which(place):
                return found
            continue
        if matches := [path for path in matching(place) if os.access(path, os.X_OK)]:
            return str(max(matches, key=_by_numbers))
    return None


def matching(pattern: str) -> list[Path]:
    """The files and folders of a path or glob, sorted."""
    folder = Path(pattern).anchor or "."
    return sorted(Path(folder).glob(str(Path(pattern).relative_to(folder))))


def _by_numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


@functools.cache
def version(program: str) -> str:
    """The version number that a program says of itself."""
    for option in ("--version", "-v"):  # nginx knows the latter alone
        result = subprocess.run([program, option], capture_output=True, text=True, check=False)
        if match := re.search(r"\d+(\.\d+)+", result.stdout + result.stderr):
            return match.group(0)
    return "unknown"
