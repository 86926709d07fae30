"""Official archives of programs: fetched where their host answers, installed only if the checksum is the vendor's.

Recipes pin the checksums that are known. Without one, the vendor's list of the same release is read over HTTPS, and the
first checksum that led to an installation is kept in the cache: an archive with another one is refused from then on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from loadstone.infrastructure.base import Say

_HASHICORP = "https://releases.hashicorp.com/{name}/{version}"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_ANSWER_S = 3.0
"""For the list of checksums, or the head of an archive, which are short: a host that needs longer is out of reach."""
_STALLED_S = 20.0
_FETCHED_WITHIN_S = 900.0
_REMEMBERED_S = 3600.0
_SAY_EVERY_S = 1.0
_PIECE_BYTES = 1 << 20


class Unverified(Exception):
    """An archive that cannot be fetched whole, or is not the one that was published; the text says why."""


@dataclass(frozen=True)
class Archive:
    """A zip with a program at its top, of the release in a folder of the vendor's."""

    name: str
    version: str
    folder: str = _HASHICORP
    """A URL, in which the name and the version are filled in."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by architecture, as Go calls it."""

    @property
    def file(self) -> str:
        """The name of the archive for this machine's architecture."""
        return f"{self.name}_{self.version}_linux_{_architecture()}.zip"

    @property
    def pinned(self) -> str:
        """The SHA-256 for this machine's architecture; empty where none is known."""
        return self.pins.get(_architecture(), "")

    @property
    def url(self) -> str:
        return f"{self._release}/{self.file}"

    @property
    def host(self) -> str:
        return urlsplit(self._release).netloc

    @property
    def sums(self) -> str:
        return f"{self._release}/{self.name}_{self.version}_SHA256SUMS"

    @property
    def _release(self) -> str:
        return self.folder.format(name=self.name, version=self.version)


def _architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def checksum(archive: Archive, cache: Path) -> str:
    """The SHA-256 that an archive must have: the pinned one, else that which the vendor publishes.

    Empty where the vendor's host does not answer in time, or has no such release. A host that did not answer is not
    tried again for an hour.
    """
    silent = cache / ".unreachable" / archive.host
    if silent.exists() and 0 <= time.time() - silent.stat().st_mtime < _REMEMBERED_S:
        return ""
    import requests  # slow, and seldom needed

    try:
        if archive.pinned:
            return archive.pinned if requests.head(archive.url, timeout=_ANSWER_S, allow_redirects=True).ok else ""
        answer = requests.get(archive.sums, timeout=_ANSWER_S, allow_redirects=False)
    except requests.RequestException:
        with contextlib.suppress(OSError):  # then it is tried again next time
            silent.parent.mkdir(parents=True, exist_ok=True)
            silent.touch()
        return ""
    listed = re.findall(rf"^([0-9a-f]{{64}})  {re.escape(archive.file)}$", answer.text, re.MULTILINE)
    return listed[0] if answer.ok and listed else ""


def install(archive: Archive, wanted: str, cache: Path, target: Path, say: Say) -> None:
    """Fetch the archive whose SHA-256 is ``wanted`` and put its program at ``target``.

    Raises Unverified, and leaves nothing then.
    """
    first = cache / "checksums" / archive.file
    if not archive.pinned and first.exists() and first.read_text().strip() != wanted:
        raise Unverified(f"{archive.sums} has {wanted}, but {first} has another checksum since an earlier fetch")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(target.parent) as packed, _temporary(target.parent) as program:
        _fetch(archive, wanted, packed, say)
        try:
            with zipfile.ZipFile(packed) as opened:
                program.write(opened.read(archive.name))
        except (zipfile.BadZipFile, KeyError) as error:
            raise Unverified(f"{archive.url} holds no program {archive.name}: {error}") from None
        program.flush()
        os.chmod(program.name, 0o755)
        os.replace(program.name, target)
    if not archive.pinned:
        first.parent.mkdir(parents=True, exist_ok=True)
        first.write_text(f"{wanted}\n")


def _fetch(archive: Archive, wanted: str, to: IO[bytes], say: Say) -> None:
    """Write the archive, whose SHA-256 is ``wanted``."""
    import requests

    sums, size, began, last = hashlib.sha256(), 0, time.monotonic(), 0.0
    try:
        with requests.get(archive.url, stream=True, timeout=(_ANSWER_S, _STALLED_S)) as answer:
            answer.raise_for_status()
            for piece in answer.iter_content(_PIECE_BYTES):
                to.write(piece)
                sums.update(piece)
                size += len(piece)
                if (now := time.monotonic()) - began > _FETCHED_WITHIN_S:
                    raise Unverified(f"{archive.url} has not arrived within {_FETCHED_WITHIN_S:g} s")
                if now - last >= _SAY_EVERY_S:
                    last = now
                    say(f"{archive.name} {archive.version}: fetching, {size / 1e6:.0f} MB")
    except requests.RequestException as error:
        raise Unverified(f"{archive.url} cannot be fetched: {error}") from None
    if sums.hexdigest() != wanted:
        which = "pinned" if archive.pinned else "published"
        raise Unverified(f"{archive.url} has SHA-256 {sums.hexdigest()} ({size} bytes), not the {which} {wanted}")
    to.flush()


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[IO[bytes]]:
    """A file that is removed unless it was renamed."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)
