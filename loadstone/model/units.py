"""Quantities with units, as users write them: ``200ms``, ``99%``, ``512MiB``.

Each is an annotated type: a plain float or int in the code (seconds, shares of one, bytes), strict in a file: there
a number without its unit is refused, because a wrong guess would change a measurement by a thousand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

from loadstone.model.base import show

LONGEST_S = 24 * 3600.0
"""The longest window, and the longest wait, that the load generator takes; in seconds."""
PERIOD_US = 100_000
"""Period of CPU limits in microseconds: the kernel's default, and what every orchestrator uses."""


@dataclass(frozen=True)
class Quantity:
    """One kind of quantity. ``low`` and ``high`` are the least and the most that may be written, with their units."""

    noun: str
    units: Mapping[str, float]
    low: str
    high: str
    examples: tuple[str, ...]
    step: float = 0.0
    """What values are whole multiples of; 0: any value."""

    def __call__(self, written: Any) -> float:
        """The value in the base unit; raises ValueError for what is not written so, or out of range."""
        value = self._number(written)
        if not self._number(self.low) <= value <= self._number(self.high):
            raise ValueError(f"{show(written)} is out of range; use {self.low} to {self.high}")
        return self._stepped(value)

    def validate(self, value: Any, info: ValidationInfo) -> float:
        """For pydantic: what a file has must be written with its unit, our own code also passes plain numbers."""
        from_file = info.context is not None and "file" in info.context
        plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return self._stepped(value) if plain and not from_file else self(value)

    def _number(self, written: Any) -> float:
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z%]*)\s*", str(written))
        example = " or ".join(self.examples)
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            raise ValueError(f"expected a {self.noun}, not {show(written)}; write it like {example}")
        if match is None:
            raise ValueError(f"{show(written)} is not a {self.noun}; write it like {example}")
        number, unit = match.groups()
        if unit not in self.units:
            problem = f"has the unknown unit {unit!r}" if unit else "has no unit"
            raise ValueError(f"{show(written)} {problem}; use {', '.join(self.units)}, for example {example}")
        return float(number) * self.units[unit]

    def _stepped(self, value: float) -> float:
        return round(value / self.step) * int(self.step) if self.step else float(value)


_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_FILE_BYTES = {"B": 1, **_BYTES}
_BITS = {"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}
seconds = Quantity(
    "duration", {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}, "0s", "720h", ("200ms", "30s")
)
share = Quantity("percentage", {"%": 0.01}, "0%", "100%", ("99%",))
memory = Quantity("size", _BYTES, "1MiB", "1048576GiB", ("512MiB", "1GiB"), step=1)
file_size = Quantity("size", _FILE_BYTES, "1B", "1GiB", ("2.4MB", "140B"), step=1)
bit_rate = Quantity("rate", _BITS, "8kbit", "1000Gbit", ("100Mbit", "1Gbit"), step=1)
frequency = Quantity("frequency", {"kHz": 1e3, "MHz": 1e6, "GHz": 1e9}, "100MHz", "10GHz", ("2.2GHz",), step=1000)
"""In whole kHz, as the kernel has them."""


def positive(value: float, written: Any) -> float:
    """``value`` if it is more than zero; ``written`` is how the user gave it."""
    if value <= 0:
        raise ValueError(f"{show(written)} must be more than zero")
    return value


def _pause(value: Any, info: ValidationInfo) -> float:
    return 0.0 if str(value) == "0" else seconds.validate(value, info)


def _duration(value: Any, info: ValidationInfo) -> float:
    return positive(seconds.validate(value, info), value)


def _share(value: Any, info: ValidationInfo) -> float:
    found = share.validate(value, info)
    return found if 0 <= found <= 1 else share(value)


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
    """Without an exponent and without trailing zeros."""
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
    BeforeValidator(memory.validate),
    PlainSerializer(format_memory, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9.]+\s*([KMG]iB|kB|MB|GB)$", "examples": ["512MiB"], "quantity": "size"}
    ),
]
"""A memory size in bytes, at least 1 MiB."""

FileSize = Annotated[
    int,
    BeforeValidator(file_size.validate),
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
    BeforeValidator(bit_rate.validate),
    PlainSerializer(format_bit_rate, when_used="json"),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[0-9.]+\s*[kMG]bit$", "examples": ["100Mbit", "1Gbit"], "quantity": "rate"}
    ),
]
"""A data rate in bits per second."""

Frequency = Annotated[
    int,
    BeforeValidator(frequency.validate),
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
