"""A disk that loses at a power cut what was not synchronised: a model beside the real folder, fed by ``os.fsync``."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path


class Disk:
    """What of a folder is certain to be on the disk. Every ``os.fsync`` of this process goes through ``fsync``.

    A name that was made, replaced or removed since its folder was synchronised may be old or new after a cut; content
    that was written since its file was synchronised may be old, new, cut off, or missing.
    """

    def __init__(self, before: Callable[[int], None]) -> None:
        self.number = 0
        self._before = before
        self._fsync = os.fsync
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}

    def fsync(self, descriptor: int) -> None:
        """``os.fsync``, of whose number ``before`` is informed first."""
        self.number += 1
        self._before(self.number)
        self._fsync(descriptor)
        status, path = os.fstat(descriptor), Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if stat.S_ISDIR(status.st_mode):
            self._names[status.st_ino] = {each.name: each.stat().st_ino for each in path.iterdir()}
        else:
            self._contents[status.st_ino] = path.read_bytes()

    def after_cut(self, folder: Path, copy: Path, chance: random.Random) -> None:
        """Write what a power cut might leave of ``folder`` now to ``copy``; the folder itself was there long before."""
        copy.mkdir(parents=True)
        certain = self._names.get(folder.stat().st_ino, {})
        for path in folder.iterdir():
            number = path.stat().st_ino
            if certain.get(path.name) == number or chance.random() < 0.5:
                if path.is_dir():
                    self.after_cut(path, copy / path.name, chance)
                else:
                    (copy / path.name).write_bytes(self._content(path, chance))

    def _content(self, path: Path, chance: random.Random) -> bytes:
        now, certain = path.read_bytes(), self._contents.get(path.stat().st_ino, b"")
        return now if now == certain else chance.choice([certain, now, now[: len(now) // 2], b""])
