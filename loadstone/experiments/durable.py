"""What a power loss must not take: files and the folders that name them, synchronised in that order."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Have a file's content, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Have all files below ``folder`` on the disk, then the names in it; its own name is its parent's to keep."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            if (file := Path(place, name)).is_file() and not file.is_symlink():
                sync(file)
        sync(Path(place))
