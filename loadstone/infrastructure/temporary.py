"""Temporary folders that name the process which made them, so that those of killed ones are found and removed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

_NAME = re.compile(r"\.?loadstone-[a-z]+-(?P<reach>[0-9a-f]{8}-\d+)-(?P<process>(?P<pid>\d+)-\d+)-\w+$")


def directory(purpose: str, parent: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A folder of this user alone, in ``parent`` where it is given; ``purpose`` is a word in its name."""
    hidden = "." if parent is not None else ""
    prefix = f"{hidden}loadstone-{purpose}-{_reach()}-{_process(os.getpid())}-"
    # A program that is being ended may still write there: what is left then is swept later.
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def sweep(*parents: Path) -> list[Path]:
    """Remove what killed processes of this user left in ``parents``; in the folder for temporary files where none is
    given. Processes of another PID namespace, as in a container, cannot be seen from here: theirs stay until the next
    boot. Returns what was removed."""
    removed = []
    for parent in parents or (Path(tempfile.gettempdir()),):
        for path in parent.iterdir() if parent.is_dir() else ():
            match = _NAME.match(path.name)
            if match is not None and not _may_live(match) and _ours(path):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


def _may_live(match: re.Match[str]) -> bool:
    """Whether the process in a folder's name may still run."""
    if match["reach"] == _reach():
        return match["process"] == _process(int(match["pid"]))
    return match["reach"].split("-")[0] == _reach().split("-")[0]


def _reach() -> str:
    """Where a process's id means the same process: the boot's id, and the PID namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    return f"{boot[:8]}-{os.stat('/proc/self/ns/pid').st_ino}"


def _process(pid: int) -> str:
    """A process as no later one is: its id and when it started; empty where it has ended."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        return f"{pid}-{started}"
    except (OSError, IndexError):
        return ""


def _ours(path: Path) -> bool:
    """Whether it is a folder, not a link, of this user."""
    facts = path.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
