"""The files that a study's load is made from: found beside the study file, read, and told apart by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadstone.experiments.expressible import levels
from loadstone.model.arrival import Replay
from loadstone.model.base import Model
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.load import SCRIPT
from loadstone.model.study import Study


def digest(file: Path) -> str:
    """A short hash of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:12]


def scripts(document: Document, study: Study, folder: Path) -> dict[str, Path]:
    """The file of each Lua workload, by the name that the study gives it; raises InputError where one is not there."""
    found: dict[str, Path] = {}
    for place, name in levels(study, "workload"):
        if name is not None and name.endswith(SCRIPT):
            found[name] = _there(document, place, folder / name)
    return found


def resolve(document: Document, study: Study, folder: Path) -> tuple[Study, dict[str, str]]:
    """The study with the paths in ``load`` made absolute, and each file's digest by its path."""
    load, digests = study.load, {}
    for place, given in _paths(study):
        file = _there(document, ("load", *place), folder / given)
        digests[str(file)] = digest(file)
        load = _replaced(load, place, str(file))
    return study.model_copy(update={"load": load}), digests


def _paths(study: Study) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where ``load`` names a file, and what it says there."""
    load = study.load
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
