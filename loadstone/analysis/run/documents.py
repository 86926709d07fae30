"""Reads the files of a run as a whole: malformed parts are left out and named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import ValidationError

from loadstone import __version__
from loadstone.model.records.run_files import PlanFile, Provenance, RunFile, StudyFile

_KNOWN_STUDY = 1
"""The version of study files that this Loadstone reads."""
_File = TypeVar("_File", bound=RunFile)


def usable(kind: type[_File], name: str, content: dict[str, Any], warnings: list[str]) -> _File:
    """The content without malformed parts; these, and other versions, are appended to ``warnings``."""
    try:
        found = kind.model_validate(content)
    except ValidationError as error:
        places = dict.fromkeys(_within(content, detail["loc"]) for detail in error.errors())
        for place in places:
            content = _without(content, place)
            warnings.append(f"{name}: {'.'.join(place)} is malformed and left out")
        return usable(kind, name, content, warnings)
    warnings += _newer(name, found)
    return found


def _within(content: Any, place: tuple[int | str, ...]) -> tuple[str, ...]:
    """The keys of a location of pydantic, without the names of union members and without indices."""
    steps: list[str] = []
    for step in place:
        if not isinstance(content, dict):
            break
        if isinstance(step, str) and step in content:
            steps.append(step)
            content = content[step]
    return tuple(steps)


def _without(content: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """The content without the key at ``place``; nothing of it where the place is not known."""
    if not place:
        return {}
    first, *rest = place
    if first not in content:
        return content
    if not rest:
        return {key: value for key, value in content.items() if key != first}
    return content | {first: _without(content[first], tuple(rest))}


def _newer(name: str, file: RunFile) -> Iterator[str]:
    study = file.study if isinstance(file, PlanFile) else file if isinstance(file, StudyFile) else None
    version = study.document.get("version", _KNOWN_STUDY) if study is not None else _KNOWN_STUDY
    if version != _KNOWN_STUDY:
        text = f"{name}: the study is of version {version!r}, and this Loadstone knows {_KNOWN_STUDY}"
        yield f"{text}: new keys are not shown"
    made = file.loadstone if isinstance(file, Provenance) else None
    if made is not None and _release(made) > _release(__version__):
        yield f"{name}: this run was made by Loadstone {made}, newer than this {__version__}: update it"


def _release(version: str) -> tuple[int, ...]:
    """``0.10.2`` as numbers; empty for other texts."""
    parts = version.split("+")[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
