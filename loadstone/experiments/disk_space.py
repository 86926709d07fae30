"""Space on the disk for what trials leave, judged by what those before left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from loadstone.experiments.listener import Listener
from loadstone.model.errors import DiskError

_SPARE = 1.5
"""Times the largest trial so far: what must be free for the next one."""
LEAST = 512 << 20
"""Bytes: less is worth a warning where nothing is known yet."""


class DiskSpace:
    """Checks the disk of a run's results before each trial."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        self._folder = folder
        self._listener = listener
        self._sizes = {trial: _size(trial) for trial in (folder / "trials").iterdir()}
        self._warned = False

    def left(self, trial: Path) -> None:
        """A trial has finished, with its files in this folder."""
        self._sizes[trial] = _size(trial)

    def require(self, remaining: float) -> None:
        """Raise DiskError where the next trial would not fit; note once that ``remaining`` trials may not fit."""
        free = shutil.disk_usage(self._folder).free
        largest = max(self._sizes.values(), default=0)
        mean = sum(self._sizes.values()) / len(self._sizes) if self._sizes else LEAST
        if free < _SPARE * largest:
            raise DiskError(
                f"no room for another trial in {self._folder}: {_megabytes(free)} are free, and the largest trial "
                f"took {_megabytes(largest)}; finished trials are intact",
                "make room, then go on with `loadstone run --resume`",
            )
        needed = mean * (remaining if self._sizes else 1)
        if free < needed and not self._warned:
            self._warned = True
            self._listener.note(
                f"the disk of {self._folder} has {_megabytes(free)} free, and what is left to run may need "
                f"{_megabytes(needed)}"
            )


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1e7 else f"{size / 1e6:.1f} MB"


def _size(folder: Path) -> int:
    """Bytes on the disk below a folder."""
    files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return sum(file.lstat().st_blocks * 512 for file in files)
