"""The files that fields of a workload take values from: that they can be read, and what they hold."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from loadstone.model.application import Application
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.fields import FileField

_LARGEST = 100_000_000
"""Bytes; the load generator keeps the values in memory, and refuses more."""


def findings(application: Application) -> Iterator[Finding]:
    """Files that are not there or cannot be used, each at its key. Their lines are checked before load starts."""
    for key, field in _fields(application):
        if problem := _problem(field):
            yield key, problem


def anywhere(text: str, application: Application) -> str:
    """``text``, JSON, with the digest of each file's content in place of its path."""
    for _, field in _fields(application):
        with Path(field.path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        text = text.replace(json.dumps(field.path), json.dumps(digest))
    return text


def _fields(application: Application) -> Iterator[tuple[tuple[str | int, ...], FileField]]:
    for name, workload in application.workloads.items():
        for operation, one in workload.operations.items():
            for key, field in one.files():
                yield ("workloads", name, "operations", operation, *key), field


def _problem(field: FileField) -> str | None:
    file = Path(field.path)
    if not file.is_file():
        what = "is not a file" if file.exists() else "there is no such file"
        return f"{file}: {what}; paths are relative to the application file"
    if (size := file.stat().st_size) > _LARGEST:
        return f"{file}: has {size:,} bytes; at most {_LARGEST:,} are read"
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            columns = next(csv.reader(lines), []) if field.column is not None else []
    except OSError as error:
        return f"{file}: cannot be read: {error.strerror}"
    except csv.Error as error:
        return f"{file}:1: not CSV: {error}"
    if field.column is not None and field.column not in columns:
        return f"{file}:1: no column {field.column!r}" + did_you_mean(field.column, columns)
    return None
