"""The files that a study names: found beside the study file, read, and distinguished by their content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loadstone.applications import workload_files
from loadstone.model import dataset
from loadstone.model.application import Application
from loadstone.model.arrival import Replay
from loadstone.model.base import Finding, Model
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.load import SCRIPT, Load
from loadstone.model.study import Study
from loadstone.model.workload import Workload


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


def workloads(document: Document, study: Study, application: Application, folder: Path) -> dict[str, Workload]:
    """The study's own workloads by name, their files read; raises InputError naming file and line of what is wrong."""
    found: dict[str, Workload] = {}
    for name, given in study.workloads.items():
        place: tuple[str, ...] = ("workloads", name)
        if name in application.workloads:
            problem = f"{application.name} has a workload {name!r} of its own; give it another name"
            raise InputError([document.problem(place, problem)])
        if isinstance(given, Workload):
            source, workload = document, given
        else:
            source, place = Document.read(_there(document, place, folder / given)), ()
            workload = source.parse(Workload)
        alone = application.model_copy(update={"workloads": {name: workload}})
        wrong = [*alone.wrong_entries(), *workload_files.findings(alone), *_of_dataset(name, workload, application)]
        source.check(((*place, *path[2:]), text) for path, text in wrong)
        found[name] = workload
    return found


def _of_dataset(name: str, workload: Workload, application: Application) -> Iterator[Finding]:
    for path, text in dataset.findings(workload, application.datasets):
        yield ("workloads", name, *path), text


def workload_digest(application: Application, name: str) -> str:
    """A short hash of what a workload requests, and of the files that it takes values from."""
    text = json.dumps(application.workloads[name].model_dump(mode="json", by_alias=True), sort_keys=True)
    return hashlib.sha256(workload_files.anywhere(text, application).encode()).hexdigest()[:12]


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
    if not os.path.isfile(file):  # unlike Path's, it also answers for what cannot be looked at
        what = "is a folder" if os.path.isdir(file) else "there is no such file"
        raise InputError([document.problem(place, f"{file}: {what}; paths are relative to the study file")])
    return file.resolve()


def _replaced(model: Model, place: tuple[str, ...], value: str) -> Any:
    key, *rest = place
    changed = _replaced(getattr(model, key), tuple(rest), value) if rest else value
    return model.model_copy(update={key: changed})
