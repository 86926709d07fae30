"""The columns of ``trials.parquet`` and of trials' own tables, as records declare them: the docs print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from loadstone.model.records.base import Record
from loadstone.model.records.trial_row import FACTOR_PREFIX, Meaning, TrialRow

Type = Literal["text", "integer", "number", "boolean", "list of texts", "list of numbers"]
_TYPES: dict[Any, Type] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple[str, ...]: "list of texts",
    tuple[float, ...]: "list of numbers",
}


@dataclass(frozen=True)
class Column:
    """One column. ``unit`` is empty where there is none; an ``optional`` one may be null."""

    name: str
    type: Type
    unit: str
    meaning: str
    optional: bool = False
    windowed: bool = False
    """Whether it speaks of the whole measured window, which a trial that was stopped early does not have."""


def type_of(annotation: Any) -> tuple[Type, bool]:
    """The type of a column by that of a field, and whether it may be null."""
    if get_origin(annotation) is Annotated:
        return type_of(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return "text", False
    if (known := _TYPES.get(annotation)) is not None:
        return known, False
    (inner,) = (part for part in get_args(annotation) if part is not NoneType)
    return type_of(inner)[0], True


def columns(factors: Iterable[str] = ()) -> tuple[Column, ...]:
    """All columns of ``trials.parquet`` in file order; each factor of the study has one of its own."""
    return tuple(columns_of(TrialRow, factors))


def columns_of(record: type[Record], factors: Iterable[str] = ()) -> Iterator[Column]:
    """The columns of a table whose rows are such records."""
    for name, field in record.model_fields.items():
        (meaning,) = (part for part in field.metadata if isinstance(part, Meaning))
        if name == "factors":
            yield from (
                Column(FACTOR_PREFIX + factor, "text", "", f"level of the factor {factor}") for factor in factors
            )
            continue
        type, optional = type_of(field.annotation)
        yield Column(name, type, meaning.unit, meaning.text, optional, meaning.windowed)


def _null(column: Column) -> str:
    return ", or null *" if column.windowed else ", or null" if column.optional else ""


def markdown(record: type[Record] = TrialRow) -> str:
    """The reference table of the columns of such records, for the documentation."""
    rows = [
        f"| `{column.name}` | {column.type}{_null(column)} | {column.unit or '-'} | {column.meaning} |"
        for column in columns_of(record, ["<name>"])
    ]
    text = "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows]) + "\n"
    return text.replace("level of the factor <name>", "level of each factor that the study varies")
