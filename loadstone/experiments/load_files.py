"""The files that a study names: found beside the study file, read, and distinguished by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadstone.model import dataset
from loadstone.model.arrival import Replay
from loadstone.model.base import Model
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.load import SCRIPT, Load
from loadstone.model.study import Study


def digest(file: Path) -> str:
    """A short hash of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:12]


def script(document: Document, study: Study, folder: Path) -> Path | None:
    """The file of a Lua workload; None of any other. Raises InputError where it is not there."""
    name = study.workload
    return _there(document, ("workload",), folder / name) if name is not None and name.endswith(SCRIPT) else None


def data(document: Document, study: Study, folder: Path) -> Path | None:
    """The file of a dataset that is one; raises InputError likewise."""
    name = study.dataset
    return _there(document, ("dataset",), folder / name) if name is not None and dataset.is_path(name) else None


def resolve(document: Document, load: Load, folder: Path) -> tuple[Load, dict[str, str]]:
    """The ``load`` of a document with its paths made absolute, and each file's digest by its path."""
    resolved, digests = load, {}
    for place, given in _paths(load):
        file = _there(document, ("load", *place), folder / given)
        digests[str(file)] = digest(file)
        resolved = _replaced(resolved, place, str(file))
    return resolved, digests


def _paths(load: Load) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where ``load`` names a file, and what it says there."""
    if load.tls is not None and load.tls.ca is not None:
        yield ("tls", "ca"), load.tls.ca
    if load.descriptors is not None:
        yield ("descriptors",), load.descriptors
    if isinstance(load.arrival, Replay):
        yield ("arrival", "file"), load.arrival.file


def _there(document: Document, place: Sequence[str | int], file: Path) -> Path:
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "there is no such file"
        raise InputError([document.problem(place, f"{file}: {what}; paths are relative to the study file")])
    return file.resolve()


def _replaced(model: Model, place: tuple[str, ...], value: str) -> Any:
    key, *rest = place
    changed = _replaced(getattr(model, key), tuple(rest), value) if rest else value
    return model.model_copy(update={key: changed})
