"""The last error lines of each log of a trial."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TAIL_BYTES = 32_768
MOST_LINES, LONGEST = 3, 300
"""Lines of a log that are shown, and characters of a line."""
_WRONG = re.compile(r"\b(error|fatal|panic|traceback|exception|segfault|killed|out of memory)\b", re.IGNORECASE)
_LEVELS = {"ERROR", "FATAL", "PANIC", "CRITICAL"}


@dataclass(frozen=True)
class Log:
    """One log; ``wrong`` are the last lines in which something went wrong."""

    name: str
    size: int
    wrong: tuple[str, ...]


def read(trial: Path) -> list[Log]:
    """The logs in a trial's folder by name, including empty ones; an unreadable log has the error as its text."""
    folder = trial / "logs"
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file())
    except OSError:
        return []
    return [_log(file) for file in files]


def _log(file: Path) -> Log:
    try:
        size = file.stat().st_size
        return Log(file.name, size, tuple(_wrong(_tail(file, size)))[-MOST_LINES:] if size else ())
    except OSError as error:
        return Log(file.name, 0, (f"cannot be read: {error}",))


def _tail(file: Path, size: int) -> str:
    """Its end, from the beginning of a line on."""
    with file.open("rb") as source:
        source.seek(max(0, size - _TAIL_BYTES))
        text = source.read().decode("utf-8", "replace")
    return text.partition("\n")[2] if size > _TAIL_BYTES else text


def _wrong(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if _is_wrong(line):
            yield line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _is_wrong(line: str) -> bool:
    """By its level where the line is a record with a level, else by keywords."""
    if line.startswith("{"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and "level" in record:
            return _is_bad(record["level"])
    return bool(_WRONG.search(line))


def _is_bad(level: object) -> bool:
    """Numbers are those of pino and bunyan, from 10 on, or of syslog (RFC 5424), up to 7."""
    if isinstance(level, int | float):
        return level >= 50 or 0 <= level <= 3
    return str(level).upper() in _LEVELS
