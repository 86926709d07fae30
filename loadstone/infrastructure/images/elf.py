"""What an ELF file says of itself, and the libraries that the system's loader would give it."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.model.errors import PreflightError

_MACHINES = {3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 22: "s390x"}
_LOADED, _DYNAMIC, _INTERPRETER = 1, 2, 3


@dataclass(frozen=True)
class Elf:
    """What an ELF header says (elf(5)): Go's name of the machine, and whether it needs a loader or libraries."""

    machine: str
    needs_loader: bool
    """It names an interpreter: it is a dynamically linked program."""
    dynamic: bool
    """It can name libraries; shared libraries do too."""


def inspect(file: Path) -> Elf | None:
    """What the file's ELF header says; None if it has none, or none that makes sense."""
    with file.open("rb") as content:
        header = content.read(64)
        try:
            if header[:4] != b"\x7fELF":
                return None
            wide, order = header[4] == 2, "<" if header[5] == 1 else ">"
            machine = struct.unpack_from(f"{order}H", header, 18)[0]
            offset = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", header, 32 if wide else 28)[0]
            size, count = struct.unpack_from(f"{order}HH", header, 54 if wide else 42)
            content.seek(offset)
            table = content.read(size * count)
            kinds = {struct.unpack_from(f"{order}I", table, size * index)[0] for index in range(count)}
        except (struct.error, OverflowError, ValueError, OSError, IndexError):
            return None
    return Elf(_MACHINES.get(machine, f"machine-{machine}"), _INTERPRETER in kinds, _DYNAMIC in kinds)


def static_machine(program: Path) -> str:
    """The machine of a static Linux program; raises PreflightError for anything else, which no empty image can run."""
    remedy = "build it with `make setup`, or on another machine with CGO_ENABLED=0 GOOS=linux go build"
    found = inspect(program)
    if found is None:
        raise PreflightError(f"{program} is no Linux program, so no image can be made of it", remedy)
    if found.needs_loader:
        message = f"{program} is linked dynamically, but an image of it alone has no libraries"
        raise PreflightError(message, remedy)
    return found.machine


def libraries(file: Path) -> list[Path]:
    """The libraries and the loader that a program or library needs, theirs included, as the loader finds them here.

    The paths are those that the loader opens (``/lib/x86_64-linux-gnu/libc.so.6``), symbolic links or not.
    """
    found = inspect(file)
    if found is None or not found.dynamic:
        return []
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        result = subprocesses.run(["ldd", str(file)], env=environment)
    except FileNotFoundError:
        raise PreflightError("`ldd` is missing, which says what libraries a program needs") from None
    if result.returncode != 0 and "statically linked" not in result.stdout + result.stderr:
        raise PreflightError(f"`ldd {file}` failed: {(result.stderr or result.stdout).strip()}")
    return parse_ldd(result.stdout, file)


_LINE = re.compile(r"(?:(?P<name>\S+) => )?(?P<path>/.*|not found)")


def parse_ldd(text: str, file: Path) -> list[Path]:
    """The paths in what ``ldd`` printed of ``file``; raises PreflightError for a library that is not there."""
    paths = []
    for line in text.splitlines():
        # The kernel's own library has no path; nor has a file without libraries.
        match = _LINE.fullmatch(re.sub(r"\s+\(0x[0-9a-f]+\)$", "", line.strip()))
        if match is None:
            continue
        if match["path"] == "not found":
            raise PreflightError(f"{file} needs {match['name']}, which is not installed", "reinstall its package")
        paths.append(Path(match["path"]))
    return list(dict.fromkeys(paths))
