"""Nodes on this machine whose desk was killed: each ends by itself, and the next desk waits until it has.

Until then such a node may still start or remove something, or set back what it has tuned.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

from loadstone.model.errors import DeploymentError

ENDS_WITHIN_S = 60.0
"""A node waits half a minute for requests that the kernel holds."""
_LOOK_S = 0.02


def wait(state: str, within_s: float = ENDS_WITHIN_S) -> None:
    """Wait for the orphans whose folder is ``state``. Raises DeploymentError that names those that stay."""
    deadline = time.monotonic() + within_s
    while left := find(state):
        if time.monotonic() > deadline:
            pids = ", ".join(map(str, left))
            raise DeploymentError(
                f"`stone node --state {state}` of a desk that was killed has not ended within {within_s:g} s:"
                f" process {pids}",
                "wait for it: it may be setting back what it has tuned",
            )
        time.sleep(_LOOK_S)


def find(state: str) -> list[int]:
    """The process ids of this user's nodes with that folder, and of their keepers, whose input has no writer."""
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit() and _is(folder, state)]


def _is(process: Path, state: str) -> bool:
    with contextlib.suppress(OSError):  # it has just ended
        if process.stat().st_uid != os.geteuid():
            return False
        argv = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")[1:-1]
        return argv[:1] == ["node"] and state in argv and _abandoned(process / "fd" / "0")
    return False


def _abandoned(pipe: Path) -> bool:
    """Whether it is a pipe that nothing can write to."""
    if not os.readlink(pipe).startswith("pipe:"):
        return False
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        poll = select.poll()
        poll.register(descriptor, 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))
    finally:
        os.close(descriptor)
