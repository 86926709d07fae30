"""Locks between processes: files that no other user can open, waited for with a limit that names the holder."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.model.errors import DeploymentError

_LOOK_S = 0.1


@contextmanager
def locked(file: Path, within_s: float) -> Iterator[None]:
    """Held while the block runs. Raises DeploymentError that names the process that holds it longer than ``within_s``.

    The file is for its owner alone, as is its folder if that is created here: a user who could open it could lock it.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise DeploymentError(f"{file} is not a file of user {os.geteuid()}'s", "remove it")
        os.fchmod(descriptor, 0o600)
        _acquire(descriptor, file, within_s)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, file: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"{file} has been locked for {within_s:g} s by {_holder(descriptor)}"
                raise DeploymentError(message, "wait until that process ends, or end it") from None
        time.sleep(_LOOK_S)


def _holder(descriptor: int) -> str:
    """The process with a file's lock, as proc_locks(5) lists it: ``1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF``."""
    inode = f":{os.fstat(descriptor).st_ino}"
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].endswith(inode):
            try:
                return f"process {fields[4]} ({Path('/proc', fields[4], 'comm').read_text().strip()})"
            except OSError:
                return f"process {fields[4]}"
    return "another process"
