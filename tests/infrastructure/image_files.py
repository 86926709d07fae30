"""Images in tests: a program that stands for ``stone``, and reading archives back with nothing of ours."""

from __future__ import annotations

import json
import struct
import tarfile
from pathlib import Path
from typing import Any

from loadstone.infrastructure import images
from loadstone.infrastructure.images import archive

STATIC, DYNAMIC, INTERPRETED = (), (2,), (2, 3)


def elf_file(kinds: tuple[int, ...], machine: int = 62, after: bytes = b"") -> bytes:
    """A 64-bit ELF header and a program header of each kind, in the words of elf(5)."""
    identity = struct.pack("<4sBBBB8x", b"\x7fELF", 2, 1, 1, 0)
    rest = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1 + len(kinds), 0, 0, 0)
    return identity + rest + b"".join(struct.pack("<I52x", kind) for kind in (1, *kinds)) + after


def image_id(what: str) -> str:
    """What Docker and Kubernetes call a packaged image: the ``sha256:...`` of its configuration."""
    return archive.read(images.build(what)).config.digest


def contents(file: Path) -> dict[str, bytes]:
    """Every file of an archive by name, in its order."""
    with tarfile.open(file) as tar:
        found = {}
        for member in tar.getmembers():
            data = tar.extractfile(member)
            assert data is not None, f"{member.name} is no file"
            found[member.name] = data.read()
        return found


def layer_members(file: Path, index: int) -> dict[str, tarfile.TarInfo]:
    """The paths of one layer, in its order."""
    with tarfile.open(file) as tar:
        blob = archive.read(file).layers[index]
        with tarfile.open(fileobj=archive.open_blob(tar, blob)) as layer:
            return {f"/{member.name}": member for member in layer.getmembers()}


def read_text(file: Path, index: int, path: str) -> str:
    """A text file of one layer."""
    with tarfile.open(file) as tar:
        blob = archive.read(file).layers[index]
        with tarfile.open(fileobj=archive.open_blob(tar, blob)) as layer:
            data = layer.extractfile(path.lstrip("/"))
            assert data is not None
            return data.read().decode()


def config_of(file: Path) -> dict[str, Any]:
    """The configuration of an archive's image."""
    found = contents(file)
    loaded: dict[str, Any] = json.loads(found[json.loads(found["manifest.json"])[0]["Config"]])
    return loaded
