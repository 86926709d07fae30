"""Sizes, durations and ports as ``stone-compose`` writes them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
_EXPOSED = re.compile(r"([0-9]+)(?:-([0-9]+))?(?:/(\w+))?")


def _whole(value: Any) -> Any:
    """A size in bytes is a text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _span(value: Any) -> Any:
    """Seconds of ``1m30s``, ``500ms``."""
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(str(value)))


def exposed(value: Any) -> Any:
    """``port[-last][/protocol]``"""
    found = _EXPOSED.fullmatch(str(value))
    if found is None:
        raise ValueError(f'{value!r} is not a port; write it like "80"')
    first, last, protocol = found.groups()
    there = {"last": int(last) if last else None, "protocol": protocol}
    return {"target": int(first), **{key: value for key, value in there.items() if value is not None}}


Size = Annotated[int, BeforeValidator(_whole)]
Span = Annotated[float, BeforeValidator(_span)]
