"""What is wrong with a value whatever the verb is: an InputError with the option, the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperOption

from loadstone.model.errors import InputError

_NUMBERS = {
    float: "no number; write digits alone, for example 1000",
    int: "no whole number; write digits alone, for example 4",
}


def refuse_empty(parameters: Sequence[Any], given: dict[str, Any]) -> None:
    """Raise InputError for a path or an argument that is ``""``: it would be the current folder, or as if left out."""
    for parameter in parameters:
        path = isinstance(parameter, TyperOption) and parameter.type_descriptor.annotation is Path
        if given.get(parameter.name) == "" and (path or isinstance(parameter, TyperArgument)):
            optional = f", or leave {'the option' if path else 'it'} out" if not parameter.required else ""
            raise InputError(f"{_called(parameter)} '': is empty; give {parameter.metavar}{optional}")


def explained(error: typer.BadParameter) -> InputError | None:
    """What is no number; None for what else is wrong, which typer explains."""
    parameter: Any = error.param
    numbers = _NUMBERS.get(parameter.type_descriptor.annotation) if isinstance(parameter, TyperOption) else None
    cause: Any = error.__cause__  # pydantic's, which typer checks values with
    value = cause.errors()[0]["input"] if numbers and cause is not None else None
    return InputError(f"{_called(parameter)} {value!r}: is {numbers}") if numbers and value is not None else None


def _called(parameter: Any) -> str:
    """``--out``, ``STUDY``."""
    return str(parameter.metavar if isinstance(parameter, TyperArgument) else parameter.opts[0])
