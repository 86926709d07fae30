"""Files, folders and volumes of containers: what is text becomes configuration files; what is not carried is noted."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.applications.compose_import.reading import OUTSIDE, ComposeDocument
from loadstone.applications.compose_import.schema import ComposeFile, ComposeMount, ConfigUse
from loadstone.model.messages import KeyPath

_LARGEST = 500_000
"""Bytes of a file: what Swarm takes in a configuration."""
_MOST = 1_000_000
"""Bytes of all files of a service: what Kubernetes takes in one ConfigMap."""
_FILES = 100
_HOST = ("/proc", "/sys", "/dev", "/run", "/var/run", "/var/lib/docker", "/var/lib/containerd", "/etc", "/boot", "/usr")
_PRIVATE = "PRIVATE KEY-----"


class NotText(ValueError):
    """Why a file cannot be carried."""


@dataclass
class ServiceFiles:
    """What a service finds in its file system besides its image."""

    configs: dict[str, str] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    places: dict[str, KeyPath] = field(default_factory=dict)
    """Its place in the compose file, by path in the container."""


def mounted(document: ComposeDocument, compose: ComposeFile, name: str) -> ServiceFiles:
    """The configuration files and volumes of a service; notes what is not carried as it is."""
    found = ServiceFiles()
    service = compose.services[name]
    for index, mount in enumerate(service.volumes):
        path: KeyPath = ("services", name, "volumes", index)
        target = mount.target.rstrip("/") or "/"
        if mount.type == "bind":
            _bound(document, path, mount, target, found)
        elif mount.type == "volume":
            found.volumes.append(target)
            found.places[target] = path
            _note_volume(document, compose, path, mount)
        elif mount.type == "tmpfs":
            document.note(path, "not carried: the path is on the container's disk")
        else:
            document.note(path, f"not carried: a mount of type {mount.type!r}")
    for index, use in enumerate(service.configs):
        _used(document, compose, ("services", name, "configs", index), use, found)
    return found


def _note_volume(document: ComposeDocument, compose: ComposeFile, path: KeyPath, mount: ComposeMount) -> None:
    document.note(path, "a volume is empty at the start, gone at the end, and each replica's own")
    if mount.read_only:
        document.note(path, "not carried: 'ro'; the volume can be written")
    shared = sorted(
        name
        for name, service in compose.services.items()
        if mount.source and any(mount.source == volume.source and volume.type == "volume" for volume in service.volumes)
    )
    if len(shared) > 1:
        document.note(
            path, f"not carried: {mount.source!r} shared by {', '.join(shared)}; each has a volume of its own"
        )


def _bound(document: ComposeDocument, path: KeyPath, mount: ComposeMount, target: str, found: ServiceFiles) -> None:
    source = Path(mount.source)
    if _is_of_host(source):
        document.note(path, f"not carried: {source} is this host's own; nodes have another")
        return
    if document.outside(source):
        document.note(path, f"not carried: {source} is {OUTSIDE}")
        return
    if not source.exists():
        files: list[Path] = []
    else:
        files = list(itertools.islice(_files(source), _FILES + 1))
    if not files:
        found.volumes.append(target)
        found.places[target] = path
        document.note(path, f"{document.shown(source)} has no files: an empty volume, as Docker makes an empty folder")
        return
    if len(files) > _FILES:
        text = f"not carried: {document.shown(source)} has more than {_FILES} files; put them into an image"
        document.note(path, text)
        return
    carried = [_carry(document, path, file, target, source, found) for file in files]
    if any(carried) and not mount.read_only:
        document.note(path, "carried as read-only text; write ':ro'")


def _is_of_host(source: Path) -> bool:
    """Whether a path is a part of the operating system here: a socket of its engine, its name servers, its kernel."""
    return source == Path("/") or any(source.is_relative_to(folder) for folder in _HOST)


def _files(source: Path) -> Iterator[Path]:
    """A file, or those below a folder in order; links to folders are not followed."""
    if not source.is_dir():
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _carry(
    document: ComposeDocument, path: KeyPath, file: Path, target: str, source: Path, found: ServiceFiles
) -> bool:
    """Carry one file as a configuration file, or note why not."""
    below = file.relative_to(source)
    inside = target if file == source else f"{target.rstrip('/')}/{below.as_posix()}"
    try:
        text = _text(document, file)
        _room_for(text, found)
    except NotText as error:
        document.note(path, f"not carried: {error}")
        return False
    found.configs[inside] = text
    found.places[inside] = path
    return True


def _text(document: ComposeDocument, file: Path) -> str:
    shown = document.shown(file)
    if document.outside(file):
        raise NotText(f"{shown} is {OUTSIDE}")
    if not file.is_file():
        raise NotText(f"{shown} is neither a file nor a folder")
    try:
        if (size := file.stat().st_size) > _LARGEST:
            raise NotText(f"{shown} has {size:,} bytes; a configuration file has at most {_LARGEST:,}")
        text = file.read_bytes().decode()
    except OSError as error:
        raise NotText(f"{shown} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotText(f"{shown} is not text; put it into an image") from None
    if "\0" in text:
        raise NotText(f"{shown} is not text; put it into an image")
    if _PRIVATE in text:
        raise NotText(f"{shown} has a private key, which would stand in the results")
    document.carried.append(shown)
    return text


def _room_for(text: str, found: ServiceFiles) -> None:
    size = sum(len(other.encode()) for other in [text, *found.configs.values()])
    if size > _MOST:
        raise NotText(f"with it the service's configuration files have {size:,} bytes; at most {_MOST:,}")


def _used(document: ComposeDocument, compose: ComposeFile, path: KeyPath, use: ConfigUse, found: ServiceFiles) -> None:
    """A configuration of the project's top level, mounted into a service."""
    config = compose.configs[use.source]
    target = use.target or f"/{use.source}"
    try:
        if config.content is not None:
            text = config.content
        elif config.file is not None:
            text = _text(document, Path(config.file))
        else:
            raise NotText("its text is not in the compose file")
        _room_for(text, found)
    except NotText as error:
        document.note(path, f"not carried: {error}")
        return
    found.configs[target] = text
    found.places[target] = path
