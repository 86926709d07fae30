"""A table that hands itself to whatever it is analysed in."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas
    import polars


class Table:
    """One tidy table: a row for each thing, a column for each fact, null for what is not known.

    It is an Arrow table underneath; whatever speaks Arrow's interface takes it as it is: ``polars.DataFrame(table)``.
    """

    def __init__(self, arrow: pa.Table) -> None:
        self._arrow = arrow

    @property
    def arrow(self) -> pa.Table:
        """The ``pyarrow.Table``, which DuckDB queries by the name of its variable."""
        return self._arrow

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._arrow.column_names)

    def pandas(self) -> pandas.DataFrame:
        """As a ``pandas.DataFrame``. Raises ImportError where pandas is not installed."""
        _needs("pandas")
        return self._arrow.to_pandas()

    def polars(self) -> polars.DataFrame:
        """As a ``polars.DataFrame``. Raises ImportError where polars is not installed."""
        frame: polars.DataFrame = _needs("polars").from_arrow(self._arrow)
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """The rows as mappings; needs no other library."""
        rows: list[dict[str, Any]] = self._arrow.to_pylist()
        return rows

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)


def _needs(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise ImportError(
            f"{library} is not installed: pip install 'loadstone[notebook]', or use .arrow or .rows()"
        ) from None


def joined(tables: Iterable[pa.Table]) -> Table:
    """All rows in one table; of columns that some tables lack, null."""
    found = list(tables)
    return Table(pa.concat_tables(found, promote_options="default") if found else pa.table({}))
