"""Image archives: one tar file that ``docker load`` and ``ctr images import`` both take.

It is an OCI image layout with Docker's older ``manifest.json`` beside it, as Docker itself writes them since version
25. Layers are not compressed: an engine on the same machine would only unpack them again.
Sources: the OCI image specification 1.0 (image-layout, manifest, config); Docker image specification 1.2.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from loadstone.infrastructure import temporary
from loadstone.infrastructure.images import layers
from loadstone.infrastructure.images.layers import LayerEntry

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
_BLOBS = "blobs/sha256"
_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Blob:
    """A part of an image as a registry knows it; digests as ``sha256:...``."""

    digest: str
    size: int


@dataclass(frozen=True)
class Contents:
    """What an archive holds."""

    reference: str
    config: Blob
    """Docker calls an image by this digest."""
    manifest: Blob
    """Registries and containerd call it by this one."""
    layers: tuple[Blob, ...]


def write(file: Path, reference: str, machine: str, config: dict[str, Any], parts: Sequence[list[LayerEntry]]) -> None:
    """Write an image of these layers; what is written depends on nothing but the arguments.

    ``config`` is the specification's: ``User``, ``Env``, ``Entrypoint``, ``Cmd`` ...
    """
    with temporary.directory("layers", file.parent) as folder:
        tars = [Path(folder) / str(index) for index in range(len(parts))]
        for tar, members in zip(tars, parts, strict=True):
            with tar.open("wb") as out:
                layers.write(members, out)
        blobs = [_blob_of(tar) for tar in tars]
        image = {
            "architecture": machine,
            "os": "linux",
            "created": _EPOCH,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [blob.digest for blob in blobs]},
            "history": [{"created": _EPOCH, "created_by": "loadstone"} for _ in blobs],
        }
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
            for name, data in _texts(reference, machine, _json(image), blobs).items():
                _add(archive, name, len(data), io.BytesIO(data))
            for tar, blob in zip(tars, blobs, strict=True):
                with tar.open("rb") as content:
                    _add(archive, _path(blob.digest), blob.size, content)


def _texts(reference: str, machine: str, config: bytes, blobs: list[Blob]) -> dict[str, bytes]:
    """Everything but the layers, by name in the archive: first, so that it is found quickly."""
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(_CONFIG_TYPE, config),
            "layers": [{"mediaType": _LAYER_TYPE, "digest": blob.digest, "size": blob.size} for blob in blobs],
        }
    )
    named = {
        **_descriptor(MANIFEST_TYPE, manifest),
        "platform": {"architecture": machine, "os": "linux"},
        "annotations": {"io.containerd.image.name": full_name(reference)},
    }
    docker = {
        "Config": _path(_digest(config)),
        "RepoTags": [reference],
        "Layers": [_path(blob.digest) for blob in blobs],
    }
    return {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "manifests": [named]}),
        "manifest.json": _json([docker]),
        _path(_digest(config)): config,
        _path(_digest(manifest)): manifest,
    }


def read(file: Path) -> Contents:
    """What an archive that ``write`` wrote holds."""
    with tarfile.open(file, "r:") as archive:

        def load(name: str) -> Any:
            content = archive.extractfile(name)
            assert content is not None
            return json.load(content)

        docker, index = load("manifest.json")[0], load("index.json")["manifests"][0]
        manifest = load(_path(index["digest"]))
    blobs = [Blob(entry["digest"], entry["size"]) for entry in [manifest["config"], index, *manifest["layers"]]]
    return Contents(docker["RepoTags"][0], blobs[0], blobs[1], tuple(blobs[2:]))


def open_blob(archive: tarfile.TarFile, blob: Blob) -> IO[bytes]:
    """One part of an archive, to be read."""
    content = archive.extractfile(_path(blob.digest))
    assert content is not None
    return content


def full_name(reference: str) -> str:
    """A reference with everything that Docker lets its user leave out: ``docker.io/library/redis:7.0``."""
    first, _, rest = reference.partition("/")
    if not rest or ("." not in first and ":" not in first and first != "localhost"):
        first, rest = "docker.io", reference
    if first == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    name = rest.rpartition("/")[2]
    return f"{first}/{rest}" if ":" in name or "@" in name else f"{first}/{rest}:latest"


def _add(archive: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = size
    archive.addfile(entry, content)


def _blob_of(file: Path) -> Blob:
    with file.open("rb") as content:
        return Blob("sha256:" + hashlib.file_digest(content, "sha256").hexdigest(), file.stat().st_size)


def _descriptor(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(data), "size": len(data)}


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _path(digest: str) -> str:
    return f"{_BLOBS}/{digest.removeprefix('sha256:')}"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
