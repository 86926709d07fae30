"""What all models share: frozen, strict about unknown keys, with a remedy in the message."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

Finding = tuple[tuple[str | int, ...], str]
"""The path of keys to what is wrong, and the message."""


def did_you_mean(word: str, known: list[str]) -> str:
    """``; did you mean 'x'?`` when a known word is close, else the list of those known."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(known))}"


class Model(BaseModel):
    """A frozen model that refuses unknown keys and may report what its fields together make wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data:
            if key not in known:
                message = f"unknown key {str(key)!r}" + did_you_mean(str(key), known)
                # Braces would be taken for template fields by pydantic.
                raise PydanticCustomError("unknown_key", "{text}", {"text": message, "key": key})
        return data

    def findings(self) -> Iterator[Finding]:
        """What single fields cannot see: contradictions between them. Overridden where there are any."""
        yield from ()
