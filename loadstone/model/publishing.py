"""The licence and the authors of published results."""

from __future__ import annotations

from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from loadstone.model.base import Matches
from loadstone.model.errors import InputError

_FORM = Matches(r"https?://\S+|[A-Za-z0-9][A-Za-z0-9.+-]*", "an SPDX identifier (CC-BY-4.0) or a licence's address")
Licence = Annotated[str, _FORM]
Author = Annotated[str, Matches(r"\S(.{0,198}\S)?", "a name")]


def address(licence: str) -> str:
    """Where a licence can be read."""
    return licence if licence.startswith("http") else f"https://spdx.org/licenses/{licence}"


def checked(licence: str) -> str:
    """A licence that was given outside of a study file. Raises InputError for what is none."""
    try:
        return TypeAdapter[str](Licence).validate_python(licence)
    except ValidationError:
        raise InputError(f"licence {licence!r} cannot be used; use {_FORM.use}") from None
