"""The files of a run as a whole, as far as reports read them: a part that has not its shape is left out and named."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from loadstone import __version__

_KNOWN_STUDY = 1
"""The version of study files that this Loadstone reads."""
_MORE = ConfigDict(extra="allow", strict=True)


class Capacity(TypedDict, total=False):
    """What a study's search is asked for."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    slo: dict[str, Any] | None


class Closed(TypedDict, total=False):
    """What a study's closed loop is made of."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    clients: Any


class Load(TypedDict, total=False):
    """How a study offers load."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    arrival: str | dict[str, Any] | None
    capacity: Capacity | None
    slo: dict[str, Any] | None
    rates: Any
    closed: Closed | None


class Trials(TypedDict, total=False):
    """How a study measures."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    repetitions: Any


class Study(TypedDict, total=False):
    """A study, in ``plan.json`` as resolved or in ``study.yaml`` as given."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    name: str
    description: str | None
    load: Load | None
    trial: Trials | None
    factors: dict[str, Any] | None


class Named(TypedDict, total=False):
    """What has a name, an identity, a label."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    name: str
    id: str
    label: str


class Plan(TypedDict, total=False):
    """``plan.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    study: Study
    application: Named
    treatments: list[Named] | None
    overrides: list[Any] | None


class Provenance(TypedDict, total=False):
    """``provenance.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    command: list[Any] | str | None
    warnings: list[Any] | None
    tuning: dict[str, dict[str, Any]] | None


class Outcome(TypedDict, total=False):
    """``outcome.json``."""

    __pydantic_config__ = _MORE  # type: ignore[misc]
    failures: list[Any] | None


_SHAPES: dict[str, TypeAdapter[Any]] = {
    "plan.json": TypeAdapter(Plan),
    "study.yaml": TypeAdapter(Study),
    "provenance.json": TypeAdapter(Provenance),
    "outcome.json": TypeAdapter(Outcome),
}


def usable(name: str, content: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The content without what has not its shape; ``warnings`` are told of that, and of what is of another version."""
    for place in dict.fromkeys(_misshapen(name, content)):
        content = _without(content, place)
        warnings.append(f"{name}: {'.'.join(map(str, place))} is not what stands there in a run; it is left out")
    warnings += _newer(name, content)
    return content


def _misshapen(name: str, content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Where the parts are that do not fit, by the names on the way; of a list, the whole list."""
    try:
        _SHAPES[name].validate_python(content)
    except ValidationError as error:
        return [_within(content, one["loc"]) for one in error.errors()]
    return []


def _within(content: Any, place: tuple[int | str, ...]) -> tuple[str, ...]:
    """The keys that lead to it, without the kinds that were tried on the way and without places in lists."""
    steps: list[str] = []
    for step in place:
        if not isinstance(content, dict):
            break
        if isinstance(step, str) and step in content:
            steps.append(step)
            content = content[step]
    return tuple(steps)


def _without(content: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """The same without what is there."""
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
        said = f"{name}: the study is of version {version!r}, and this Loadstone knows {_KNOWN_STUDY}"
        return [f"{said}: what is new in it is not shown"]
    made = content.get("loadstone") if name == "provenance.json" else None
    if isinstance(made, str) and _release(made) > _release(__version__):
        return [f"provenance.json: this run was made by Loadstone {made}, newer than this {__version__}: update it"]
    return []


def _release(version: str) -> tuple[int, ...]:
    """``0.10.2`` as numbers; empty for what is no such thing."""
    parts = version.split("+")[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
