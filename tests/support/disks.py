"""Disks of any size, which are files."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own at a folder, on a disk that is a file."""
    folder.mkdir(exist_ok=True)
    image = folder.with_name(f"{folder.name}.image")
    image.touch()
    os.truncate(image, megabytes << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, folder], check=False).returncode != 0:
        pytest.skip("needs loop devices")
    try:
        (folder / "lost+found").rmdir()
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
