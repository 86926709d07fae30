"""Quantities with units, as users write them: ``200ms``, ``99%``, ``512MiB``.

Each is an annotated type: a plain float or int in the code (seconds, shares of one, bytes), strict in a file: there
a number without its unit is refused, because a wrong guess would change a measurement by a thousand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PERCENT = {"%": 0.01}
_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_FILE_BYTES = {"B": 1, **_BYTES}
_BITS = {"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}
_HERTZ = {"kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
_LONGEST = 30 * 24 * 3600.0
_LARGEST = 2**50


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
    """Seconds of a duration such as ``200ms`` or ``1.5s``, at most 30 days."""
    result = _quantity(value, _SECONDS, "duration", "200ms or 30s")
    if result > _LONGEST:
        raise ValueError(f"{value!r} is too long; at most 720h")
    return result


def share(value: Any) -> float:
    """The share, 0 to 1, of a percentage such as ``99%``."""
    result = _quantity(value, _PERCENT, "percentage", "99%")
    if result > 1:
        raise ValueError(f"{value!r} is more than 100%")
    return result


def memory(value: Any) -> int:
    """Bytes of a size such as ``512MiB``: 1 MiB to 1 PiB."""
    result = _quantity(value, _BYTES, "size", "512MiB or 1GiB")
    if result < 2**20:
        raise ValueError(f"{value!r} is less than 1MiB")
    if result > _LARGEST:
        raise ValueError(f"{value!r} is too much; at most {_LARGEST // 2**30}GiB")
    return round(result)


def file_size(value: Any) -> int:
    """Bytes of a size such as ``2.4MB`` or ``140B``: 1 byte to 1 GiB."""
    result = _quantity(value, _FILE_BYTES, "size", "2.4MB or 140B")
    if not 1 <= result <= 2**30:
        raise ValueError(f"{value!r} is out of range; use 1B to 1GiB")
    return round(result)


def bit_rate(value: Any) -> int:
    """Bits per second of a rate such as ``100Mbit``: 8 kbit to 1 Tbit."""
    result = _quantity(value, _BITS, "rate", "100Mbit or 1Gbit")
    if not 8e3 <= result <= 1e12:
        raise ValueError(f"{value!r} is out of range; use 8kbit to 1000Gbit")
    return round(result)


def frequency(value: Any) -> int:
    """Hertz of a frequency such as ``2.2GHz``: 100 MHz to 10 GHz, in whole kHz as the kernel has them."""
    return _clocked(_quantity(value, _HERTZ, "frequency", "2.2GHz"), value)


def _clocked(hertz: float, written: Any) -> int:
    if not 1e8 <= hertz <= 1e10:
        raise ValueError(f"{written!r} is out of range; use 100MHz to 10GHz")
    return round(hertz / 1e3) * 1000


def positive(value: float, written: Any) -> float:
    """``value`` if it is more than zero; ``written`` is how the user gave it."""
    if value <= 0:
        raise ValueError(f"{written!r} must be more than zero")
    return value


def _already_parsed(value: Any, info: ValidationInfo) -> bool:
    """Whether this is a plain number of our own code, and not one that a user's file lacks a unit for."""
    from_file = info.context is not None and "file" in info.context
    return not from_file and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _pause(value: Any, info: ValidationInfo) -> float:
    if _already_parsed(value, info) or str(value) == "0":
        return float(value)
    return seconds(value)


def _duration(value: Any, info: ValidationInfo) -> float:
    return positive(float(value) if _already_parsed(value, info) else seconds(value), value)


def _share(value: Any, info: ValidationInfo) -> float:
    return float(value) if _already_parsed(value, info) and 0 <= value <= 1 else share(value)


def _memory(value: Any, info: ValidationInfo) -> int:
    return int(value) if _already_parsed(value, info) else memory(value)


def _file_size(value: Any, info: ValidationInfo) -> int:
    return int(value) if _already_parsed(value, info) else file_size(value)


def _bit_rate(value: Any, info: ValidationInfo) -> int:
    return int(value) if _already_parsed(value, info) else bit_rate(value)


def _frequency(value: Any, info: ValidationInfo) -> int:
    return _clocked(value, value) if _already_parsed(value, info) else frequency(value)


def format_seconds(value: float) -> str:
    """A duration as a user would write it: ``200ms``, ``30s``, ``2m``; exact to a nanosecond."""
    if value == 0:
        return "0s"
    for unit, size in (("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if value >= size and abs(value / size - round(value / size)) < 1e-9:
            return f"{round(value / size)}{unit}"
    return f"{_plain(value)}s" if value >= 1 else f"{_plain(value * 1000)}ms"


def format_share(value: float) -> str:
    """A share as a percentage: ``99.9%``."""
    return f"{_plain(value * 100)}%"


def format_memory(value: int) -> str:
    """A size as a user would write it: ``512MiB``; the largest unit that keeps it exact."""
    for unit in ("GiB", "MiB", "KiB"):
        if value % int(_BYTES[unit]) == 0:
            return f"{value // int(_BYTES[unit])}{unit}"
    return f"{_plain(value / 2**20)}MiB"


def format_file_size(value: int) -> str:
    """A size as a user would write it: ``2.4MB``, ``140B``; exact to a byte."""
    unit = next((unit for unit in ("MB", "kB") if value >= _BYTES[unit]), "B")
    return f"{_plain(value / _FILE_BYTES[unit])}{unit}"


def format_bit_rate(value: int) -> str:
    """A rate as a user would write it: ``100Mbit``."""
    unit = next((unit for unit in ("Gbit", "Mbit") if value >= _BITS[unit]), "kbit")
    return f"{_plain(value / _BITS[unit])}{unit}"


def format_frequency(value: int) -> str:
    """A frequency as a user would write it: ``2.2GHz``."""
    return f"{_plain(value / 1e9)}GHz" if value >= 1e9 else f"{_plain(value / 1e6)}MHz"


def _plain(value: float) -> str:
    """Without an exponent and without zeros that say nothing."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "duration": format_seconds,
    "percentage": format_share,
    "size": format_memory,
    "file size": format_file_size,
    "rate": format_bit_rate,
    "frequency": format_frequency,
}
"""How each ``quantity`` of a JSON Schema is written."""

Duration = Annotated[
    float,
    BeforeValidator(_duration),
    PlainSerializer(format_seconds, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9.]+\s*(us|ms|s|m|h)$",
            "examples": ["200ms", "30s"],
            "quantity": "duration",
        }
    ),
]
"""A duration of more than zero, in seconds."""

Pause = Annotated[
    float,
    BeforeValidator(_pause),
    PlainSerializer(format_seconds, when_used="json"),
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "pattern": r"^[0-9.]+\s*(us|ms|s|m|h)$",
            "examples": ["0s", "5s"],
            "quantity": "duration",
        }
    ),
]
"""A duration that may be zero, in seconds."""

Share = Annotated[
    float,
    BeforeValidator(_share),
    PlainSerializer(format_share, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9.]+\s*%$", "examples": ["99%"], "quantity": "percentage"}),
]
"""A percentage, held as a share from 0 to 1."""

Memory = Annotated[
    int,
    BeforeValidator(_memory),
    PlainSerializer(format_memory, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9.]+\s*([KMG]iB|kB|MB|GB)$", "examples": ["512MiB"], "quantity": "size"}
    ),
]
"""A memory size in bytes, at least 1 MiB."""

FileSize = Annotated[
    int,
    BeforeValidator(_file_size),
    PlainSerializer(format_file_size, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9.]+\s*([KMG]iB|kB|MB|GB|B)$",
            "examples": ["140B", "2.4MB"],
            "quantity": "file size",
        }
    ),
]
"""The size of a file in bytes, at least 1."""

BitRate = Annotated[
    int,
    BeforeValidator(_bit_rate),
    PlainSerializer(format_bit_rate, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9.]+\s*[kMG]bit$", "examples": ["100Mbit", "1Gbit"], "quantity": "rate"}
    ),
]
"""A data rate in bits per second."""

Frequency = Annotated[
    int,
    BeforeValidator(_frequency),
    PlainSerializer(format_frequency, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[0-9.]+\s*[kMG]Hz$",
            "examples": ["800MHz", "2.2GHz"],
            "quantity": "frequency",
        }
    ),
]
"""A frequency in hertz, in whole kilohertz."""
