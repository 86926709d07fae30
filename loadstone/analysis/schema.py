"""Tables as Arrow sees them: ``trials.parquet``, and tables whose rows are frozen dataclasses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_type_hints

import pyarrow as pa

from loadstone.model import columns
from loadstone.model.records.trial_row import FACTOR_PREFIX, TrialRow

_ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "list of texts": pa.list_(pa.string()),
    "list of numbers": pa.list_(pa.float64()),
}


_OF_TRIAL = frozenset(("trial_id", "treatment", "phase", "rate", "clients", "load", "verdict"))
"""The columns of tables that name a trial, its load and its verdict."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class TableRow:
    """A row of a table, whose fields are the columns in their order: every class below it is a frozen dataclass.

    ``class SpectrumPoint(TableRow, name="spectrum")`` is a row of the report's table ``spectrum``.
    """

    NAME: ClassVar[str] = ""
    """The name of the table; empty for rows of no table of their own."""
    SHARED: ClassVar[tuple[str, ...]] = ()
    """The columns that a trial's own row has, too."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, name: str = "") -> None:
        super().__init_subclass__()
        cls.NAME = name
        dataclass(frozen=True, kw_only=True)(cls)
        cls.SHARED = tuple(field.name for field in fields(cls) if field.name in _OF_TRIAL)

    @classmethod
    def columns_of(cls, trial: TrialRow) -> dict[str, Any]:
        """The columns of the table that a trial's own row has, too."""
        return {name: getattr(trial, name) for name in cls.SHARED}


class OfTrial(TableRow):
    """Whose row it is: of one trial, or of something in it."""

    trial_id: str
    treatment: str
    phase: str
    rate: float
    clients: int | None


Row = TypeVar("Row", bound=TableRow)
_OfTrial = TypeVar("_OfTrial", bound=OfTrial)


def schema(factors: Iterable[str] = ()) -> pa.Schema:
    """The schema of ``trials.parquet`` for a study that varies ``factors``; units and meanings are field metadata."""
    return pa.schema(
        pa.field(
            column.name,
            _ARROW[column.type],
            nullable=column.optional,
            metadata={"unit": column.unit, "meaning": column.meaning},
        )
        for column in columns.columns(factors)
    )


def factors_of(names: Iterable[str]) -> list[str]:
    """The factors among column names, in their order."""
    return [name.removeprefix(FACTOR_PREFIX) for name in names if name.startswith(FACTOR_PREFIX)]


def of_trial(kind: type[_OfTrial], trial: TrialRow, parts: Iterable[TableRow]) -> list[_OfTrial]:
    """What was found in one trial, as rows of the table of all trials."""
    shared = kind.columns_of(trial)
    return [kind(**shared, **vars(part)) for part in parts]


def schema_of(kind: type[TableRow]) -> pa.Schema:
    """The schema of a table whose rows are of a dataclass: a column for each of its fields."""
    types = get_type_hints(kind, include_extras=True)
    return pa.schema([(field.name, _ARROW[columns.type_of(types[field.name])[0]]) for field in fields(kind)])


def table(kind: type[Row], rows: Iterable[Row]) -> pa.Table:
    """The rows as a table, which has its columns also without any row."""
    some, names = list(rows), [field.name for field in fields(kind)]
    return pa.table({name: [getattr(row, name) for row in some] for name in names}, schema=schema_of(kind))


def tables(*found: tuple[type[TableRow], Iterable[TableRow]]) -> dict[str, pa.Table]:
    """Several by their names."""
    return {kind.NAME: table(kind, rows) for kind, rows in found}


def rows(kind: type[Row], table: pa.Table) -> list[Row]:
    """The rows of such a table."""
    columns = [table[field.name].to_pylist() for field in fields(kind)]
    names = [field.name for field in fields(kind)]
    return [kind(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]
