"""Files, folders and volumes of containers: what is text becomes configuration files; what is not carried is noted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.schema import ComposeFile, ComposeMount, ConfigUse
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError
from loadstone.model.messages import KeyPath

_LARGEST = 500_000
"""Bytes of a file: what Swarm takes in a configuration."""
_MOST = 1_000_000
"""Bytes of all files of a service: what Kubernetes takes in one ConfigMap."""
_FILES = 100
_PRIVATE = "PRIVATE KEY-----"


class NotText(ValueError):
    """Why a file or folder cannot be carried."""


@dataclass
class Mounted:
    """What a service finds in its file system besides its image."""

    configs: dict[str, str] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    places: dict[str, KeyPath] = field(default_factory=dict)
    """Its place in the compose file, by path in the container."""


def mounted(document: ComposeDocument, compose: ComposeFile, name: str) -> Mounted:
    """The configuration files and volumes of a service; notes what is not carried as it is."""
    found = Mounted()
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


def _bound(document: ComposeDocument, path: KeyPath, mount: ComposeMount, target: str, found: Mounted) -> None:
    source = document.folder / Path(mount.source).expanduser()
    if not source.exists() or (source.is_dir() and not any(source.iterdir())):
        found.volumes.append(target)
        found.places[target] = path
        document.note(path, f"{source} has no files: an empty volume, as Docker makes an empty folder")
        return
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    try:
        texts = dict(_texts(source, files, target))
        _room_for(texts, found)
    except NotText as error:
        document.note(path, f"not carried: {error}")
        return
    found.configs |= texts
    found.places |= dict.fromkeys(texts, path)
    if not mount.read_only:
        document.note(path, "carried as read-only text; write ':ro'")


def _texts(source: Path, files: list[Path], target: str) -> Iterator[tuple[str, str]]:
    """The text of each file by its path in the container; raises NotText."""
    files = [file for file in files if not file.is_dir()]
    if len(files) > _FILES:
        raise NotText(f"{source} has {len(files)} files; at most {_FILES} become configuration files")
    for file in files:
        below = file.relative_to(source)
        yield (target if file == source else f"{target.rstrip('/')}/{below.as_posix()}"), _text(file)


def _text(file: Path) -> str:
    if not file.is_file():
        raise NotText(f"{file} is neither a file nor a folder")
    try:
        if (size := file.stat().st_size) > _LARGEST:
            raise NotText(f"{file} has {size:,} bytes; a configuration file has at most {_LARGEST:,}")
        text = file.read_bytes().decode()
    except OSError as error:
        raise NotText(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotText(f"{file} is not text; put it into an image") from None
    if "\0" in text:
        raise NotText(f"{file} is not text; put it into an image")
    if _PRIVATE in text:
        raise NotText(f"{file} has a private key, which would stand in the results")
    return text


def _room_for(texts: dict[str, str], found: Mounted) -> None:
    size = sum(len(text.encode()) for text in [*texts.values(), *found.configs.values()])
    if size > _MOST:
        raise NotText(f"with it the service's configuration files have {size:,} bytes; at most {_MOST:,}")


def _used(document: ComposeDocument, compose: ComposeFile, path: KeyPath, use: ConfigUse, found: Mounted) -> None:
    """A configuration of the compose file's top level, mounted into a service."""
    if use.source not in compose.configs:
        text = f"no config {use.source!r}" + did_you_mean(use.source, list(compose.configs))
        raise InputError([document.problem(path, text)])
    config = compose.configs[use.source]
    target = use.target or f"/{use.source}"
    try:
        if config is not None and config.content is not None:
            text = config.content
        elif config is not None and config.environment is not None:
            text = document.taken(config.environment, path) or ""
        elif config is not None and config.file is not None:
            text = _text(document.folder / Path(config.file).expanduser())
        else:
            raise NotText("its text is not in the compose file")
        _room_for({target: text}, found)
    except NotText as error:
        document.note(path, f"not carried: {error}")
        return
    found.configs[target] = text
    found.places[target] = path
