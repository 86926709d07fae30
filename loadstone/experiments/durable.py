"""Files that are whole or absent, also after a power loss or on a full disk, and the lock of a run folder."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loadstone.model.errors import disk_error, place_error


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


def is_running(folder: Path) -> bool:
    """Whether a process runs this run folder at this time."""
    try:
        with (folder / ".lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:  # it was never begun
        return False


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write ``path`` into an error that a user can act on."""
    with _explained(path):
        yield


@contextmanager
def recording(folder: Path) -> Iterator[None]:
    """Turn a failure to write below the folder of a run into an error that says what is kept and how to go on."""
    with _explained(folder, "finished trials are intact", "continue with `loadstone run --resume`"):
        yield


@contextmanager
def _explained(path: Path, intact: str = "", then: str = "try again") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = disk_error(path, error, intact, then) or place_error(path, error)
        raise (problem or error) from error


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` to a file of a run so that it is either whole or absent, also after a power loss."""
    with recording(path):
        write_text(path, json.dumps(value, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is either whole or absent, also after a power loss."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
