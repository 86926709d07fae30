"""What a knob is: values of the kernel's that can be read, set, and set back; and the host whose kernel it is."""

from __future__ import annotations

import ctypes
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from loadstone.model.errors import PreflightError


class Refused(PreflightError):
    """A knob that this host lacks, or a value that it does not take."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True)
class Host:
    """This machine's kernel, by the files in which it shows itself; a recorded tree can stand in for them."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")

    @property
    def cpu(self) -> Path:
        """Where the kernel shows its processors."""
        return self.sys / "devices" / "system" / "cpu"

    @property
    def boot(self) -> str:
        """Another one after each start of the machine."""
        return self.read(self.proc / "sys/kernel/random/boot_id") or ""

    def read(self, file: Path) -> str | None:
        """What a file says; None where there is none, or it does not answer, as of a processor that is off."""
        try:
            return file.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, file: Path) -> int | None:
        """A value that is a whole number; None where it is not to be had."""
        text = self.read(file)
        return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None

    def write(self, file: Path, text: str) -> None:
        """Have the kernel take a value; raises OSError where it does not."""
        descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def swap(self, device: str, on: bool, priority: int = -1) -> None:
        """swapon(2) and swapoff(2), a negative priority being the kernel's own choice; raises OSError."""
        libc = ctypes.CDLL(None, use_errno=True)
        flags = 0x8000 | priority if priority >= 0 else 0
        failed = libc.swapon(os.fsencode(device), flags) if on else libc.swapoff(os.fsencode(device))
        if failed:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), device)

    def may_write(self, file: Path) -> bool:
        """Whether we have the right, and the file system is not mounted read-only."""
        return os.access(file, os.W_OK)

    @property
    def root(self) -> bool:
        """Whether we may do what only root may."""
        return os.geteuid() == 0


class Knob(ABC):
    """One key of ``tuning:``. It keeps nothing: all state is the host's and the journal's."""

    key: ClassVar[str]
    needs: ClassVar[str]
    """What the kernel must have for it, with the place, in words."""
    disturbs: ClassVar[tuple[str, ...]] = ()
    """Knobs whose values the kernel changes along with this one's."""
    yields: ClassVar[bool] = False
    """Values that the kernel does not let go are left as they are, and told; else they are an error."""

    @abstractmethod
    def files(self, host: Host) -> list[Path]:
        """All that it sets, or that changes along with that, and that this host has now; empty where it lacks it."""

    def lacking(self, host: Host) -> bool:
        """Whether this host does not have the knob at all."""
        return not self.files(host)

    @abstractmethod
    def offers(self, host: Host) -> str:
        """What may be asked for on this host, in words; asked only where there are files."""

    @abstractmethod
    def wanted(self, host: Host, value: Any) -> dict[Path, str]:
        """What to write for a value of the study; raises Refused where the host does not take it."""

    def order(self, host: Host, values: Mapping[Path, str]) -> Iterable[Path]:
        """In which order to write these: the kernel refuses some steps in between."""
        return list(values)

    def read(self, host: Host, file: Path) -> str | None:
        """The value in force; None where there is none any more."""
        return host.read(file)

    def write(self, host: Host, file: Path, text: str) -> None:
        """Set one value; raises OSError."""
        host.write(file, text)

    def may_write(self, host: Host, file: Path) -> bool:
        """Whether we can, before it is tried."""
        return host.may_write(file)


def numbered(folder: Path, pattern: str) -> list[Path]:
    """What a pattern finds, ``cpu10`` after ``cpu9``."""
    return sorted(folder.glob(pattern), key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))])


def answering(host: Host, files: Iterable[Path]) -> list[Path]:
    """Those that can be read now: what belongs to a processor that is off stays, but does not answer."""
    return [file for file in files if host.read(file) is not None]


def words(host: Host, file: Path) -> list[str]:
    """The words of a file that lists choices, in brackets or not; none where it is not there."""
    return re.sub(r"[\[\]]", " ", host.read(file) or "").split()


def shared(parts: Iterable[Iterable[str]]) -> list[str]:
    """What all of several lists have, in the order of the first."""
    first, *others = [list(part) for part in parts] or [[]]
    return [one for one in first if all(one in other for other in others)]
