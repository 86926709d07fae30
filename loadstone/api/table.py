"""A table that hands itself to whatever it is analysed in."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from loadstone.model.base import did_you_mean

if TYPE_CHECKING:
    import pandas
    import polars


_SHOWN = 20
_UNITS = ("_ms", "_s")


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

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """A column as a NumPy array, in which null is NaN (None among texts); ``p99`` is ``p99_ms`` too.

        Raises KeyError where there is none.
        """
        found = next((known for known in (name, *(name + unit for unit in _UNITS)) if known in self.columns), None)
        if found is None:
            raise KeyError(f"no column {name!r}" + did_you_mean(name, self.columns))
        values: np.ndarray[Any, Any] = self._arrow[found].to_numpy()
        return values

    def to_pandas(self) -> pandas.DataFrame:
        """As a ``pandas.DataFrame``. Raises ImportError where pandas is not installed."""
        _needs("pandas")
        return self._arrow.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """As a ``polars.DataFrame``. Raises ImportError where polars is not installed."""
        frame: polars.DataFrame = _needs("polars").from_arrow(self._arrow)
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """The rows as mappings; needs no other library."""
        rows: list[dict[str, Any]] = self._arrow.to_pylist()
        return rows

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def _repr_html_(self) -> str:
        shown = self._arrow.slice(0, _SHOWN).to_pylist()
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in shown)
        more = f"<p>{len(self):,} rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)


def _cell(value: Any) -> str:
    """A value of a table for people: null is empty, and a number has four digits that count."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))


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
