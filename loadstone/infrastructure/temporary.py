"""Temporary folders that name the process which made them, so that those of killed ones are found and removed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

_NAME = re.compile(r"\.?loadstone-[a-z]+-(?P<owner>[0-9a-f]{8}-\d+-\d+)-\w+$")


def directory(purpose: str, parent: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A folder of this user alone, in ``parent`` where it is given; ``purpose`` is a word in its name."""
    hidden = "." if parent is not None else ""
    prefix = f"{hidden}loadstone-{purpose}-{_owner(os.getpid())}-"
    # A program that is being ended may still write there: what is left then is swept later.
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def sweep(*parents: Path) -> list[Path]:
    """Remove what killed processes of this user left in ``parents``; in the folder for temporary files where none is
    given. Returns what was removed."""
    removed = []
    for parent in parents or (Path(tempfile.gettempdir()),):
        for path in parent.iterdir() if parent.is_dir() else ():
            match = _NAME.match(path.name)
            if match is not None and match["owner"] != _owner(int(match["owner"].split("-")[1])) and _ours(path):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


def _owner(pid: int) -> str:
    """A process as no later one is: the boot's id, the process's own, and when it started; empty where it has ended."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text()[:8]}-{pid}-{started}"
    except (OSError, IndexError):
        return ""


def _ours(path: Path) -> bool:
    """Whether it is a folder, not a link, of this user."""
    facts = path.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
