"""One measurement at a time on a machine: two would measure each other.

The measurement holds a Unix socket without a file, which the kernel removes with the process: a killed one leaves
nothing, and no user can prepare a file in its place. Machines that are reached over a channel have claims in their
journals instead (``hosts/claims.py``): a study holds them for longer than a process lives.
"""

from __future__ import annotations

import contextlib
import pwd
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.model.errors import PreflightError

_ADDRESS = "\0loadstone-measurement"
"""In the kernel's abstract namespace: one for each network namespace of the machine."""
_ANSWER_S = 1.0
_QUEUE = 4096
"""Processes that may look for the holder at once: it never answers them, and they never wait."""


@contextmanager
def measuring(shared_ok: bool = False) -> Iterator[str]:
    """Measure within this block, alone on this machine. Raises PreflightError that names the other measurement.

    ``shared_ok``: the user accepts another one beside it. Yields a warning that names it; empty where there is none.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        warning = ""
        try:
            held.bind(_ADDRESS)
            held.listen(_QUEUE)
        except OSError:
            warning = f"another measurement runs on this machine: {_holder()}"
            if not shared_ok:
                remedy = "wait until it ends, or accept with --shared-ok that each disturbs the other"
                raise PreflightError(warning, remedy) from None
        yield warning


def _holder() -> str:
    """The process that measures, as a text."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_ANSWER_S)
        try:
            probe.connect(_ADDRESS)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return "it has just ended, or does not let itself be named"
    pid, uid, _ = struct.unpack("3i", credentials)
    user = str(uid)
    with contextlib.suppress(KeyError):
        user = pwd.getpwuid(uid).pw_name
    if pid == 0:  # what the kernel calls a process of a container that this one cannot see
        return f"a process of {user} in another container"
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        command = "its command is hidden"
    return f"process {pid} of {user} ({command[:200]})"
