"""The binaries of cluster software: from the PATH where the version fits, else fetched or built, once.

Official archives are fetched where their host answers (``archives``); else Go builds the program from its modules.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.builds import archives
from loadstone.infrastructure.builds.compiling import build, obstacle
from loadstone.infrastructure.builds.recipes import BuildRecipe, cache_folder, recipe
from loadstone.model.errors import PreflightError

_ANSWER_S = 20.0
"""How long a program on the PATH may take to print its version."""


def binary(name: str, say: Say) -> Path:
    """The program of that name: ``nomad``, ``consul`` or ``kubernetes`` (one binary that holds every program of it).

    It may be fetched or built for that, which takes minutes; ``say`` receives the progress, about once a second.
    Raises PreflightError with the remedy where it can be neither.
    """
    wanted = recipe(name)
    found, _ = _on_path(wanted)
    return found or wanted.there or _fetch(wanted, say) or build(wanted, say)


def _fetch(wanted: BuildRecipe, say: Say) -> Path | None:
    """The program of the official archive; None where that cannot be reached or has another checksum."""
    cache = cache_folder()
    if wanted.archive is None or not (checksum := archives.checksum(wanted.archive, cache)):
        return None
    try:
        archives.install(wanted.archive, checksum, cache, wanted.official, say)
    except archives.Unverified as error:
        say(f"{wanted.name} {wanted.version}: {error}; it is built instead")
        return None
    except OSError as error:
        message = f"{wanted.name} {wanted.version} cannot be kept: {error.strerror}: {error.filename or cache}"
        raise PreflightError(
            message, "make room or give rights there, or name another folder in XDG_CACHE_HOME"
        ) from None
    return wanted.official


def missing(name: str) -> Finding:
    """Whether the program is there, can be had (a warning with the effort), or cannot (an error)."""
    wanted = recipe(name)
    found, version = _on_path(wanted)
    if found:
        return Finding(name, "ok", f"{found} {version}")
    if wanted.there:
        return Finding(name, "ok", f"{wanted.there} {wanted.version}")
    unfit = f" ({shutil.which(name)} is {version})" if version else ""
    ahead = f"to do it ahead: {sys.executable} -m {__name__} {name}"
    if wanted.archive is not None and archives.checksum(wanted.archive, cache_folder()):
        message = f"{name} {wanted.version} is not there{unfit} and will be fetched from {wanted.archive.host}, once"
        return Finding(name, "warning", message, ahead)
    if lacking := obstacle(wanted):
        message = f"{name} {wanted.version} is not there{unfit} and cannot be built: {lacking[0]}"
        return Finding(name, "error", message, lacking[1])
    minutes = math.ceil(wanted.cpu_s / 2 / 60)
    message = (
        f"{name} {wanted.version} is not there{unfit} and will be built, once: some {minutes} minutes on two free"
        f" cores, {wanted.download_mb} MB to download, {wanted.disk_mb / 1000:.1f} GB of disk"
    )
    return Finding(name, "warning", message, ahead)


def _on_path(wanted: BuildRecipe) -> tuple[Path | None, str]:
    """The program on the PATH if it is of the same minor version; and its version, empty if there is none."""
    found = shutil.which(wanted.name) if wanted.on_path else None
    if found is None:
        return None, ""
    try:
        shown = subprocesses.run([found, "version"], _ANSWER_S).stdout
    except (OSError, subprocesses.OutOfTime):
        shown = ""
    match = re.search(r"\bv(\d+\.\d+)\.\d+\S*", shown)
    if match is None:
        return None, "of an unknown version"
    fits = match[1] == wanted.version.rpartition(".")[0]
    return (Path(found).absolute() if fits else None), match[0].removeprefix("v")
