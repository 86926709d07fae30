"""Layers of images: folders, files and links as a tar file whose bytes follow from what is in it and nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

from loadstone.model.errors import PreflightError


@dataclass(frozen=True)
class LayerEntry:
    """One path of a layer. A file has a ``source`` or a ``text``, a link a ``link``; a folder has none of them."""

    path: str
    """Absolute, as it is in the container."""
    mode: int = 0o755
    owner: int = 0
    """The id of both its user and its group."""
    source: Path | None = None
    digest: str = ""
    """SHA-256 of the source when it was looked at; another at the time of writing is an error. Empty: not looked at."""
    text: str | None = None
    link: str | None = None

    def identity(self) -> list[str | int]:
        """What decides its bytes in a layer."""
        content = "folder" if self.text is None and self.link is None else f"{self.text}{self.link}"
        return [self.path, self.mode, self.owner, self.digest or content]


def folder(path: str, mode: int = 0o755, owner: int = 0) -> LayerEntry:
    """An empty folder; those above it are made as they are needed."""
    return LayerEntry(path, mode, owner)


def file(path: str, source: Path) -> LayerEntry:
    """A copy of a file, with its permissions and without its owner; links are followed."""
    facts = source.stat()
    digest = _digest(source, facts.st_size, facts.st_mtime_ns)
    return LayerEntry(path, 0o755 if facts.st_mode & 0o111 else 0o644, source=source, digest=digest)


@lru_cache(maxsize=4096)
def _digest(source: Path, size: int, modified: int) -> str:
    with source.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def text(path: str, content: str) -> LayerEntry:
    """A file with this text."""
    return LayerEntry(path, 0o644, text=content)


def tree(path: str, source: Path, owner: int) -> list[LayerEntry]:
    """All of a folder, as it is now, with its permissions, owned by ``owner``."""
    members = [LayerEntry(path, source.stat().st_mode & 0o7777, owner)]
    for below in sorted(source.rglob("*")):
        name = f"{path}/{below.relative_to(source)}"
        if below.is_symlink():
            members.append(LayerEntry(name, 0o777, owner, link=os.readlink(below)))
        else:
            found = below if below.is_file() else None
            members.append(LayerEntry(name, below.stat().st_mode & 0o7777, owner, source=found))
    return members


def fingerprint(members: Iterable[LayerEntry]) -> str:
    """A digest of what decides a layer's bytes, without writing it."""
    identities = json.dumps([member.identity() for member in complete(members)])
    return hashlib.sha256(identities.encode()).hexdigest()


def complete(members: Iterable[LayerEntry]) -> list[LayerEntry]:
    """The members by path, each once, the folders above them among them."""
    found = {member.path: member for member in members}
    for path in list(found):
        for above in PurePosixPath(path).parents:
            if str(above) != "/":
                found.setdefault(str(above), folder(str(above)))
    return [found[path] for path in sorted(found)]


def write(members: Iterable[LayerEntry], out: IO[bytes]) -> None:
    """The layer as a tar file; raises PreflightError where a file is not any more what it was when looked at."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in complete(members):
            _write(member, archive)


def _write(member: LayerEntry, archive: tarfile.TarFile) -> None:
    entry = tarfile.TarInfo(member.path.lstrip("/"))
    entry.mode, entry.uid, entry.gid = member.mode, member.owner, member.owner
    if member.source is not None:
        with member.source.open("rb") as content:
            entry.size = os.fstat(content.fileno()).st_size
            watched = _Watched(content)
            archive.addfile(entry, watched)
        if member.digest and watched.digest.hexdigest() != member.digest:
            raise PreflightError(f"{member.source} changed while an image of it was made", "try again")
    elif member.text is not None:
        data = member.text.encode()
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    else:
        entry.type = tarfile.DIRTYPE if member.link is None else tarfile.SYMTYPE
        entry.linkname = member.link or ""
        archive.addfile(entry)


class _Watched(io.RawIOBase):
    """Hands on what it reads, and knows its digest."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._content.read(size)
        self.digest.update(data)
        return data
