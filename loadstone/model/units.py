"""Quantities with units, as users write them: ``200ms``, ``99%``, ``512MiB``.

Each is an annotated type: a plain float or int in the code (seconds, shares of one, bytes), strict in the file:
a number without its unit is refused, because a wrong guess would change a measurement by a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def _quantity(value: Any, units: Mapping[str, float], noun: str, example: str) -> float:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z%]*)\s*", str(value))
    if isinstance(value, bool) or match is None:
        raise ValueError(f"{value!r} is not a {noun}; write it like {example}")
    number, unit = match.groups()
    if unit not in units:
        said = f"has the unknown unit {unit!r}" if unit else "has no unit"
        raise ValueError(f"{value!r} {said}; use {', '.join(units)}, for example {example}")
    return float(number) * units[unit]


def seconds(value: Any) -> float:
    """Seconds of a duration such as ``200ms`` or ``1.5s``."""
    if isinstance(value, float):  # a model's own dump, already in seconds
        return value
    return _quantity(value, _SECONDS, "duration", "200ms or 30s")


def share(value: Any) -> float:
    """The share, 0 to 1, of a percentage such as ``99%``."""
    if isinstance(value, float) and 0 <= value <= 1:
        return value
    result = _quantity(value, {"%": 0.01}, "percentage", "99%")
    if result > 1:
        raise ValueError(f"{value!r} is more than 100%")
    return result


def memory(value: Any) -> int:
    """Bytes of a size such as ``512MiB``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**20:
        return value
    result = int(_quantity(value, _BYTES, "size", "512MiB or 1GiB"))
    if result < 2**20:
        raise ValueError(f"{value!r} is less than 1MiB")
    return result


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be more than zero")
    return value


def format_seconds(value: float) -> str:
    """A duration as a user would write it: ``200ms``, ``30s``, ``2m``."""
    for unit, size in (("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if value >= size and abs(value / size - round(value / size)) < 1e-9:
            return f"{round(value / size)}{unit}"
    return f"{value:g}s" if value >= 1 else f"{value * 1000:g}ms"


def format_memory(value: int) -> str:
    """A size as a user would write it: ``512MiB``."""
    for unit in ("GiB", "MiB", "KiB"):
        if value % int(_BYTES[unit]) == 0:
            return f"{value // int(_BYTES[unit])}{unit}"
    return str(value)


Duration = Annotated[
    float,
    BeforeValidator(lambda value: _positive(seconds(value))),
    PlainSerializer(format_seconds, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*(us|ms|s|m|h)$", "examples": ["200ms", "30s"]}),
]
"""A duration of more than zero, in seconds."""

Pause = Annotated[
    float,
    BeforeValidator(lambda value: 0.0 if str(value) in ("0", "0s") else seconds(value)),
    PlainSerializer(lambda value: format_seconds(value) if value else "0s", when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*(us|ms|s|m|h)$", "examples": ["0s", "5s"]}),
]
"""A duration that may be zero, in seconds."""

Share = Annotated[
    float,
    BeforeValidator(share),
    PlainSerializer(lambda value: f"{value * 100:g}%", when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*%$", "examples": ["99%"]}),
]
"""A percentage, held as a share from 0 to 1."""

Memory = Annotated[
    int,
    BeforeValidator(memory),
    PlainSerializer(format_memory, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*([KMG]iB|kB|MB|GB)$", "examples": ["512MiB"]}),
]
"""A memory size in bytes, at least 1 MiB."""
