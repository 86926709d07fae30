"""The files that fields of a workload take values from: that they can be read, and what they hold."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from loadstone.model.application import Application
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.fields import FileField

_LARGEST = 100_000_000
"""Bytes; the load generator keeps the values in memory, and refuses more."""
_LONGEST = 2**20
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def findings(application: Application) -> Iterator[Finding]:
    """Files that are not there or cannot be used, each at its key, with the first line that no request can carry."""
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
        for label, operation in workload.operations.items():
            for key, field in operation.fields_of(FileField):
                yield ("workloads", name, "operations", label, *key, "path"), field


def _problem(field: FileField) -> str | None:
    file = Path(field.path)
    if not os.path.isfile(file):  # unlike Path's, it also answers for what cannot be looked at
        what = "is not a file" if os.path.exists(file) else "there is no such file"
        return f"{file}: {what}; paths are relative to the application file"
    if (size := file.stat().st_size) > _LARGEST:
        return f"{file}: has {size:,} bytes; at most {_LARGEST:,} are read"
    try:
        return next(_bad_lines(file, field.column), None)
    except OSError as error:
        return f"{file}: cannot be read: {error.strerror}"


def _bad_lines(file: Path, column: str | None) -> Iterator[str]:
    count = 0
    with file.open(encoding="utf-8-sig", errors="replace", newline="\n" if column is None else "") as lines:
        values = _lines(lines) if column is None else _column(lines, column)
        try:
            for line, value in values:
                count += 1
                if problem := _bad(value):
                    yield f"{file}:{line}: {problem}"
        except ValueError as error:
            yield f"{file}:{error}"
    if count == 0:
        yield f"{file}: has no values"


def _lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        yield number, line.removesuffix("\n").removesuffix("\r")


def _column(lines: Iterable[str], name: str) -> Iterator[tuple[int, str]]:
    """The values below a name in the first row; raises ValueError with the line."""
    rows = csv.reader(lines)
    try:
        columns = next((row for row in rows if row), [])  # the load generator skips empty lines too
        if name not in columns:
            raise ValueError(f"{rows.line_num or 1}: no column {name!r}" + did_you_mean(name, columns))
        if columns.count(name) > 1:
            raise ValueError(
                f"{rows.line_num}: the column {name!r} is there {columns.count(name)} times; rename others"
            )
        at = columns.index(name)
        for row in rows:
            if row and len(row) != len(columns):
                raise ValueError(f"{rows.line_num}: has {len(row)} values for {len(columns)} columns")
            if row:
                yield rows.line_num, row[at]
    except csv.Error as error:
        raise ValueError(f"{rows.line_num}: not CSV: {error}") from None


def _bad(value: str) -> str | None:
    """Why a request cannot carry a value."""
    if not value:
        return "the value is empty; remove the line"
    if len(value) > _LONGEST:
        return f"the value has {len(value):,} characters; at most {_LONGEST:,}"
    if control := _CONTROL.search(value):
        return f"the value has a control character (0x{ord(control.group()):02x})"
    return None
