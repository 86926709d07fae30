"""Errors a user can act on, each with its exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


class LoadstoneError(Exception):
    """An error with a clear message for the user; ``exit_code`` is what the command line returns."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(_with_remedy(message, remedy))
        self.message = message
        self.remedy = remedy

    @property
    def first_line(self) -> str:
        """The first line of the message, without the remedy: for a sentence among others."""
        return self.message.partition("\n")[0]


def _with_remedy(message: str, remedy: str) -> str:
    return message if not remedy else f"{message}\n  {remedy}"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in an input file: where, and what to do about it."""

    file: Path | str
    line: int
    where: str
    message: str

    def __str__(self) -> str:
        file = _from_here(self.file)
        place = f"{file}:{self.line}" if self.line else f"{file}"
        return f"{place}: {self.where}: {self.message}" if self.where else f"{place}: {self.message}"


def _from_here(file: Path | str) -> Path | str:
    """A file below the working folder as one types it there; any other as it is."""
    with suppress(OSError, ValueError):  # a working folder that was removed; a file elsewhere
        return Path(file).relative_to(Path.cwd())
    return file


def no_utf8(file: Path | str, error: UnicodeDecodeError) -> Problem:
    """The first byte of a file that no UTF-8 text has there."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return Problem(file, line, "", f"byte {error.object[error.start]:#04x} is no UTF-8 text; save the file as UTF-8")


def unreadable(error: OSError) -> str:
    """Why a file cannot be read, for behind its name."""
    if isinstance(error, IsADirectoryError):
        return "is a folder; give the path of a file"
    return f"cannot be read: {error.strerror}"


def grouped(problems: Iterable[Problem]) -> list[str]:
    """One sentence for all places of a file with the same problem: ``web.yaml:3: ...; also in lines 7, 12``."""
    places: dict[tuple[Path | str, str], list[Problem]] = {}
    for problem in problems:
        places.setdefault((problem.file, problem.message), []).append(problem)
    return [str(first) + _also(first, others) for first, *others in places.values()]


def _also(first: Problem, others: list[Problem]) -> str:
    lines = sorted({other.line for other in others} - {first.line})
    return f"; also in line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}" if lines else ""


class InputError(LoadstoneError):
    """The user's files or flags are wrong, or name a place that cannot be written."""

    exit_code = 2

    def __init__(self, problems: list[Problem] | str) -> None:
        self.problems = problems if isinstance(problems, list) else []
        super().__init__("\n".join(map(str, problems)) if isinstance(problems, list) else problems)


class PreflightError(LoadstoneError):
    """This machine or cluster lacks something that the study needs."""

    exit_code = 3


class DeploymentError(LoadstoneError):
    """The application could not be deployed or did not become ready."""

    exit_code = 3


class TrialsInvalid(LoadstoneError):
    """Trials were invalid, so the study could not answer."""

    exit_code = 4


class NotHeld(LoadstoneError):
    """A gate failed: the whole 95 % interval of a result lies on the wrong side of the limit that was given, or a load
    missed its objective."""

    exit_code = 5


class Undecided(LoadstoneError):
    """A gate cannot tell, and --fail-undecided was given: the 95 % interval contains the limit, or there is no
    estimate."""

    exit_code = 6


class Interrupted(BaseException):
    """Stopped by the user or a signal; finished trials are kept and the run can be resumed."""

    # No error: what turns an error into a finding or a warning and goes on must not catch it.
    exit_code = 130

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(_with_remedy(message, remedy))


_SPACE = "free disk space"
_REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EROFS: "have it mounted for writing",
    errno.EIO: "see what the kernel reports of the disk (`dmesg`), and use another",
}


_PLACES = (errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)


class DiskError(LoadstoneError):
    """The disk does not take what is written."""


def place_error(path: Path | str, error: OSError) -> InputError | None:
    """What a failure to write ``path`` means, if nothing can be written in that place: it is closed, a file, or its
    name is none."""
    if error.errno not in _PLACES:
        return None
    return InputError(
        f"cannot write {error.filename or path}: {error.strerror}\n  choose another place, or change its permissions"
    )


def disk_error(path: Path | str, error: OSError, intact: str = "", then: str = "try again") -> DiskError | None:
    """What a failure to write ``path`` means, if it is the disk's: what is ``intact``, and what to do ``then``."""
    if error.errno not in _REMEDIES:
        return None
    message = f"cannot write {path}: {error.strerror}"
    return DiskError(f"{message}; {intact}" if intact else message, f"{_REMEDIES[error.errno]}, then {then}")
