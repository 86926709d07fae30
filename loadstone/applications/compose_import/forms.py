"""The short forms that a compose file may have in place of long ones, and numbers and sizes as compose writes them."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any

from pydantic import BeforeValidator

from loadstone.model.messages import show

_BYTES = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PORT = re.compile(r"(?:(?:\[[^]]*\]|[^:]*):)??(?:([0-9]+(?:-[0-9]+)?)?:)?([0-9]+)(?:-([0-9]+))?(?:/(\w+))?")
_MODES = {"rw", "ro", "z", "Z", "cached", "delegated", "consistent", "nocopy"}


def text(value: Any) -> str:
    """A plain value as text, as a container gets it; raises ValueError for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"expected text, not {show(value)}")


def _command_line(value: Any) -> Any:
    """A shell command becomes a list of arguments, as compose splits it."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            raise ValueError(f"{value!r} has a quote that is not closed") from None
    return [text(argument) for argument in value] if isinstance(value, list) else value


def _variables(value: Any) -> Any:
    """``[NAME=value, NAME]`` or ``{NAME: value, NAME: null}``: None where the value is to be taken from outside."""
    if isinstance(value, dict):
        return {name: None if given is None else text(given) for name, given in value.items()}
    if not isinstance(value, list):
        return value
    pairs = [text(entry).partition("=") for entry in value]
    return {name: given if separator else None for name, separator, given in pairs}


def keyed(value: Any) -> Any:
    """A list of names is a mapping with empty values."""
    return {text(name): None for name in value} if isinstance(value, list) else value


def listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _number(value: Any) -> Any:
    """A number, also where a variable made a text of it."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"[0-9]*\.?[0-9]+", value) else value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _flag(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _size(value: Any) -> Any:
    """Bytes of ``512m``, ``1.5gb``, ``64MiB`` or a number; powers of 1024 all."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([bkmgt]?)i?b?", text(value).strip().lower())
    if found is None:
        raise ValueError(f"{show(value)} is not a size; write it like 512m or 1g")
    return round(float(found.group(1)) * _BYTES[found.group(2)])


def _span(value: Any) -> Any:
    """Seconds of ``1m30s``, ``500ms``."""
    duration_text = text(value)
    parts = re.findall(r"([0-9]*\.?[0-9]+)(us|ms|s|m|h)", duration_text)
    if not parts or "".join(map("".join, parts)) != duration_text:
        raise ValueError(f"{show(value)} is not a duration; write it like 30s or 1m30s")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def published(value: Any) -> Any:
    """``[[host:]host port:]port[-last][/protocol]``; or the long form, which is a mapping."""
    if isinstance(value, dict):
        return {key: text(part) if key == "published" else _whole(part) for key, part in value.items()}
    found = _PORT.fullmatch(text(value))
    if found is None:
        raise ValueError(f'{show(value)} is no port; write it like "80" or "8080:80"')
    published, first, last, protocol = found.groups()
    there = {"published": published, "last": int(last) if last else None, "protocol": protocol}
    return {"target": int(first), **{key: value for key, value in there.items() if value is not None}}


def mounted(value: Any) -> Any:
    """``[source:]target[:mode,mode]``; or the long form, which is a mapping."""
    if not isinstance(value, str):
        return value
    source, target, modes = (*value.split(":"), "", "")[:3] if ":" in value else ("", value, "")
    unknown = set(filter(None, modes.split(","))) - _MODES
    if value.count(":") > 2 or unknown or not target.startswith("/"):
        raise ValueError(f"{value!r} is no mount; write it like data:/var/lib/data or ./web.conf:/etc/web.conf:ro")
    bound = source.startswith((".", "/", "~"))
    if not bound and "/" in source:
        raise ValueError(f"{source!r} is no name of a volume; for a file write ./{source}")
    return {
        "type": "bind" if bound else "volume",
        "source": source,
        "target": target,
        "read_only": "ro" in modes.split(","),
    }


def alone(key: str) -> BeforeValidator:
    """A text alone is the value of one key of a mapping."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


Text = Annotated[str, BeforeValidator(text)]
CommandLine = Annotated[list[str] | None, BeforeValidator(_command_line)]
Variables = Annotated[dict[str, str | None], BeforeValidator(_variables)]
Names = Annotated[list[Text], BeforeValidator(listed)]
Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_whole)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Size = Annotated[int, BeforeValidator(_size)]
Span = Annotated[float, BeforeValidator(_span)]
