"""``trials.parquet`` as Arrow sees it."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from loadstone.model import columns

_ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "list of texts": pa.list_(pa.string()),
}


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
    prefix = columns.FACTOR_PREFIX
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
