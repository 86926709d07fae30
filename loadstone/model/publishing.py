"""The licence and the authors of published results."""

from __future__ import annotations

from typing import Annotated

from pydantic import TypeAdapter, ValidationError

from loadstone.model.base import Matches
from loadstone.model.errors import InputError

_FORM = Matches(r"https?://\S+|[A-Za-z0-9][A-Za-z0-9.+-]*", "an SPDX identifier (CC-BY-4.0) or a licence's address")
Licence = Annotated[str, _FORM]
_NAME = Matches(r"\S(.{0,198}\S)?", "a name")
Author = Annotated[str, _NAME]


def address(licence: str) -> str:
    """Where a licence can be read."""
    return licence if licence.startswith("http") else f"https://spdx.org/licenses/{licence}"


def checked_licence(licence: str) -> str:
    """A licence that was given outside of a study file. Raises InputError for what is none."""
    return _checked("licence", licence, _FORM)


def checked_author(author: str) -> str:
    """An author who was given outside of a study file. Raises InputError for what is no name."""
    return _checked("author", author, _NAME)


def _checked(what: str, text: str, form: Matches) -> str:
    try:
        return TypeAdapter[str](Annotated[str, form]).validate_python(text)
    except ValidationError:
        raise InputError(f"{what} {text!r} cannot be used; use {form.use}") from None
