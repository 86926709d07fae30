"""Temporary folders that name the process which made them, so that those of killed ones are found and removed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from loadstone.infrastructure import identity

_NAME = re.compile(
    r"\.?loadstone-[a-z]+-(?P<machine>[0-9a-f]{8})-(?P<boot>[0-9a-f]{8})"
    r"-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<started>\d+)-\w+$"
)


def directory(purpose: str, parent: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A folder of this user alone, in ``parent`` where it is given; ``purpose`` is a word in its name."""
    hidden = "." if parent is not None else ""
    maker = f"{identity.machine_id()}-{_boot()}-{_namespace()}-{os.getpid()}-{_started(os.getpid())}"
    prefix = f"{hidden}loadstone-{purpose}-{maker}-"
    # A program that is being ended may still write there: what is left then is swept later.
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def sweep(*parents: Path) -> list[Path]:
    """Remove what killed processes of this user left in ``parents``; in the folder for temporary files where none is
    given. Processes of another PID namespace, as in a container, cannot be seen from here: theirs stay until the next
    boot. Those of another machine, which shares the folder, stay. Returns what was removed."""
    removed = []
    for parent in parents or (Path(tempfile.gettempdir()),):
        for path in parent.iterdir() if parent.is_dir() else ():
            match = _NAME.match(path.name)
            if match is not None and not _may_live(match) and _ours(path):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


def _may_live(name: re.Match[str]) -> bool:
    """Whether the process that a folder names may still run."""
    if name["machine"] != identity.machine_id():
        return True
    if name["boot"] != _boot():
        return False
    return name["namespace"] != _namespace() or name["started"] == _started(int(name["pid"]))


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]


def _namespace() -> str:
    """The PID namespace in which a process's id is that process."""
    return str(os.stat("/proc/self/ns/pid").st_ino)


def _started(pid: int) -> str:
    """The ticks from boot to its start, which no later process of that id shares; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _ours(path: Path) -> bool:
    """Whether it is a folder, not a link, of this user."""
    try:
        facts = path.lstat()
    except FileNotFoundError:  # another process removes it just now
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
