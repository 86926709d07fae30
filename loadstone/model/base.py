"""What all models share: frozen, strict about unknown keys, and able to report what contradicts itself."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema

from loadstone.model.hints import NAMES

Finding = tuple[tuple[str | int, ...], str]
"""The path of keys to what is wrong, and the message."""


def abridged(names: Sequence[str], most: int) -> str:
    """``a, b and 3 more``: so many of them, and how many others there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def by_number(text: str) -> list[tuple[float, str]]:
    """What texts are sorted by so that ``workers=2`` is before ``workers=10``."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if place % 2 else (0.0, part) for place, part in enumerate(parts)]


def plural(quantity: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{quantity:,} {noun}" + ("" if quantity == 1 else "s")


def did_you_mean(word: str, known: list[str]) -> str:
    """``; did you mean 'x'?`` when a known word is close or the same in another tool, else the list of those known."""
    same = [name for name in NAMES.get(word.lower(), ()) if name in known]
    close = same or difflib.get_close_matches(word, known, n=1)
    return (
        f"; did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"; known: {', '.join(sorted(known)) or 'none'}"
    )


def show(value: Any) -> str:
    """A value as the file has it; of lists and mappings only what they are."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return "a list"
        case dict():
            return "keys and values"
        case float():
            return f"{value:.12g}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def beside(value: str, info: ValidationInfo) -> str:
    """A path as it is seen from the file that names it."""
    if info.context is None or "file" not in info.context:
        return value
    return str((Path(info.context["file"]).parent / value).absolute())


class Matches:
    """Text that wholly matches ``pattern``; ``use`` describes what that allows."""

    def __init__(self, pattern: str, use: str) -> None:
        self.pattern = pattern
        self.use = use

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return AfterValidator(self._check).__get_pydantic_core_schema__(source, handler)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": f"^{self.pattern}$"}

    def _check(self, value: str | None) -> str | None:
        if value is not None and re.fullmatch(self.pattern, value) is None:
            raise ValueError(f"{value!r} cannot be used; use {self.use}")
        return value


class Model(BaseModel):
    """A frozen model that refuses unknown keys and may report what its fields together make wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def findings(self) -> Iterator[Finding]:
        """What single fields cannot see: contradictions between them. Overridden where there are any."""
        yield from ()

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """With the docstring below each field as its description: read here only, since parsing the source is slow."""
        generated = handler(core)
        properties = handler.resolve_ref_schema(generated)["properties"]
        for name, text in _docstrings(cls).items():
            properties[cls.model_fields[name].alias or name].setdefault("description", text)
        return generated


@cache
def _docstrings(model: type[Model]) -> dict[str, str]:
    """The docstrings below the fields of a model and of those that it inherits from, by the field's name."""
    found = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, Model):
            (definition,) = ast.parse(inspect.getsource(kind)).body
            for pair in pairwise(cast(ast.ClassDef, definition).body):
                match pair:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        found[name] = inspect.cleandoc(text)
    return {name: text for name, text in found.items() if name in model.model_fields}
