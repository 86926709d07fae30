"""The files of a run as a whole, as far as reports read them: malformed parts are left out and named."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from loadstone import __version__

_KNOWN_STUDY = 1
"""The version of study files that this Loadstone reads."""
_MORE = ConfigDict(extra="allow", strict=True)


class StudyCapacity(TypedDict, total=False):
    """The search of a study."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    slo: dict[str, Any] | None


class StudyClosedLoop(TypedDict, total=False):
    """The closed loop of a study."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    clients: Any


class StudyLoad(TypedDict, total=False):
    """The load of a study."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    arrival: str | dict[str, Any] | None
    capacity: StudyCapacity | None
    slo: dict[str, Any] | None
    rates: Any
    closed: StudyClosedLoop | None


class StudyTrials(TypedDict, total=False):
    """The trials of a study."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    repetitions: Any


class StudyDocument(TypedDict, total=False):
    """A study, in ``plan.json`` as resolved or in ``study.yaml`` as given."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    name: str
    description: str | None
    load: StudyLoad | None
    trial: StudyTrials | None
    factors: dict[str, Any] | None


class Named(TypedDict, total=False):
    """An application or a treatment."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    name: str
    id: str
    label: str


class PlanDocument(TypedDict, total=False):
    """``plan.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    study: StudyDocument
    application: Named
    treatments: list[Named] | None
    overrides: list[Any] | None


class Provenance(TypedDict, total=False):
    """``provenance.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    command: list[Any] | str | None
    warnings: list[Any] | None
    tuning: dict[str, dict[str, Any]] | None


class OutcomeDocument(TypedDict, total=False):
    """``outcome.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    failures: list[Any] | None


_SHAPES: dict[str, TypeAdapter[Any]] = {
    "plan.json": TypeAdapter(PlanDocument),
    "study.yaml": TypeAdapter(StudyDocument),
    "provenance.json": TypeAdapter(Provenance),
    "outcome.json": TypeAdapter(OutcomeDocument),
}


def usable(name: str, content: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The content without malformed parts; these, and other versions, are appended to ``warnings``."""
    for place in dict.fromkeys(_misshapen(name, content)):
        content = _without(content, place)
        warnings.append(f"{name}: {'.'.join(map(str, place))} is malformed and left out")
    warnings += _newer(name, content)
    return content


def _misshapen(name: str, content: dict[str, Any]) -> list[tuple[str, ...]]:
    """The key paths of malformed parts; within a list, that of the list."""
    try:
        _SHAPES[name].validate_python(content)
    except ValidationError as error:
        return [_within(content, detail["loc"]) for detail in error.errors()]
    return []


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
    """The content without the key at ``place``."""
    first, *rest = place
    if first not in content:
        return content
    if not rest:
        return {key: value for key, value in content.items() if key != first}
    return content | {first: _without(content[first], tuple(rest))}


def _newer(name: str, content: dict[str, Any]) -> list[str]:
    study = content.get("study", {}) if name == "plan.json" else content
    version = study.get("version", _KNOWN_STUDY)
    if name in ("plan.json", "study.yaml") and version != _KNOWN_STUDY:
        text = f"{name}: the study is of version {version!r}, and this Loadstone knows {_KNOWN_STUDY}"
        return [f"{text}: new keys are not shown"]
    made = content.get("loadstone") if name == "provenance.json" else None
    if isinstance(made, str) and _release(made) > _release(__version__):
        return [f"provenance.json: this run was made by Loadstone {made}, newer than this {__version__}: update it"]
    return []


def _release(version: str) -> tuple[int, ...]:
    """``0.10.2`` as numbers; empty for other texts."""
    parts = version.split("+")[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
