"""The files that a study names: found beside the study file, read, and distinguished by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from loadstone.experiments.expressible import levels
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


def scripts(document: Document, study: Study, folder: Path) -> dict[str, Path]:
    """The file of each Lua workload, by the name that the study gives it; raises InputError where one is not there."""
    return _named(document, study, "workload", lambda name: name.endswith(SCRIPT), folder)


def datasets(document: Document, study: Study, folder: Path) -> dict[str, Path]:
    """The file of each dataset that is one, by the name that the study gives it; raises InputError likewise."""
    return _named(document, study, "dataset", dataset.is_path, folder)


def _named(
    document: Document, study: Study, factor: str, is_file: Callable[[str], bool], folder: Path
) -> dict[str, Path]:
    return {
        name: _there(document, place, folder / name)
        for place, name in levels(study, factor)
        if name is not None and is_file(name)
    }


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
