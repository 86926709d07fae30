"""Workloads from what people have: a description of an API (OpenAPI), and what a browser recorded (HAR).

``openapi`` and ``har`` each read a file and return an ``ImportedWorkload``, which ``loadstone init`` writes as a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model.base import abridged, plural
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem, unreadable

_SHOWN = 3
_JSON = (".json", ".har")


@dataclass(frozen=True)
class ImportedWorkload:
    """A workload as a file has it, the server that it is for, and what was left out."""

    url: str | None
    """``http://host:port``; None where the file names no server."""
    workload: dict[str, Any]
    notes: list[str]


def read(file: Path) -> dict[str, Any]:
    """A JSON or YAML file with keys at its top. Raises InputError where it is neither."""
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_each_once)
    except OSError as error:
        raise InputError(f"{file}: {unreadable(error)}") from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply") from None
    except json.JSONDecodeError as error:
        if file.suffix.lower() in _JSON:  # a damaged recording would be read as YAML for minutes
            raise InputError([Problem(file, error.lineno, "", f"not valid JSON: {error.msg}")]) from None
        data = Document.read(file).data
    except ValueError:  # not UTF-8, or a key twice: it is named with its line
        data = Document.read(file).data
    if not isinstance(data, dict):
        raise InputError(f"{file}: expected keys and values at the top level")
    return data


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


@contextmanager
def understood(file: Path) -> Iterator[None]:
    """Turn what a file has in another place or shape than its format says into an InputError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{file}: is not as its format says: {type(error).__name__}: {error}") from None


def counted(file: Path, names: Iterable[str], noun: str, why: str) -> list[str]:
    """``FILE: 3 requests left out (GET /a, GET /b and 1 more): WHY``; nothing for no names."""
    some = list(dict.fromkeys(names))
    if not some:
        return []
    return [f"{file}: {plural(len(some), noun)} left out ({abridged(some, _SHOWN)}): {why}"]


def unique(name: str, taken: Iterable[str], joint: str = "-") -> str:
    """``name``, or with a number where it is taken."""
    used, number, free = set(taken), 1, name
    while free in used:
        number += 1
        free = f"{name}{joint}{number}"
    return free
