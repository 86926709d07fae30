"""What a host's knobs were before they were set, on the host itself: whoever comes later can set them back.

The whole snapshot is on the disk before the first change, and is removed after the last value was seen to be back.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadstone.model.base import Model
from loadstone.model.errors import PreflightError

_NAME = "tuning.json"


class Owner(Model):
    """The process that tunes; ``started`` (ticks since boot) tells it from a later one of the same id."""

    pid: int
    started: int
    command: str = ""

    @property
    def alive(self) -> bool:
        """Whether exactly that process still runs; a zombie does not."""
        try:
            return _started(self.pid) == self.started
        except (OSError, ValueError, IndexError):
            return False


class Value(Model):
    """One value, by the knob that it belongs to."""

    knob: str
    file: str
    before: str


class Entry(Model):
    """A host that is tuned."""

    version: Literal[1] = 1
    boot: str
    """Of the kernel whose values these are: after a restart of the machine they are its own again."""
    owner: Owner
    tuning: str
    values: list[Value]

    def before(self) -> dict[str, str]:
        """Value by file."""
        return {value.file: value.before for value in self.values}


def myself() -> Owner:
    """This process."""
    return Owner(pid=os.getpid(), started=_started(os.getpid()), command=" ".join(["loadstone", *sys.argv[1:]]))


def folder() -> Path:
    """``$LOADSTONE_HOST_STATE``, else ``/var/lib/loadstone``: one for all users of a host."""
    return Path(os.environ.get("LOADSTONE_HOST_STATE") or "/var/lib/loadstone")


@contextmanager
def locked() -> Iterator[None]:
    """Keep others of this host from tuning or restoring meanwhile; they wait."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder(), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise PreflightError(f"{folder()}: cannot be used: {error.strerror}", "tuning needs root: use sudo") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def load() -> Entry | None:
    """The host's journal; None where nothing is tuned."""
    file = folder() / _NAME
    try:
        return Entry.model_validate_json(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise PreflightError(
            f"{file}: not a readable journal of this host's tuning: {why}",
            "restart the machine, which sets all knobs back, then delete the file",
        ) from None


def save(entry: Entry) -> None:
    """Write it to the disk, whole or not at all, before anything that it speaks of is done."""
    temporary = folder() / f".{_NAME}.new"
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(entry.model_dump(mode="json"), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder() / _NAME)
        _sync()
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PreflightError(
            f"{folder()}: the host's values cannot be written down, so none is changed: {error.strerror}",
            "tuning needs root and a little room on the disk",
        ) from None


def remove() -> None:
    """Nothing is tuned any more."""
    try:
        (folder() / _NAME).unlink(missing_ok=True)
        _sync()
    except OSError as error:
        raise PreflightError(f"{folder() / _NAME}: cannot be removed: {error.strerror}", "use sudo") from None


def _sync() -> None:
    descriptor = os.open(folder(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _started(pid: int) -> int:
    """proc(5): the name in parentheses may hold anything; then come the state and 18 fields to the start."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    if fields[0] in "ZX":
        raise ProcessLookupError(pid)
    return int(fields[19])
