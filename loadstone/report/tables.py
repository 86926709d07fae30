"""The tables of a report as files: CSV for machines with full precision, LaTeX and Markdown for papers."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from loadstone.report import publication_table

MOST_ROWS = 200
"""Most rows of a table for people to read; a longer one is written as CSV only."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
MOST_BYTES = 50_000
"""Most bytes of a plain CSV; a larger one is compressed, which readers of data frames undo by themselves."""


def write(tables: Mapping[str, pa.Table], folder: Path, closed: bool = False) -> dict[str, list[str]]:
    """Write every table that has rows, and return what follows the name of each of its files.

    The loads of a ``closed`` loop are its clients.
    """
    written: dict[str, list[str]] = {}
    for name, table in tables.items():
        if not table.num_rows:
            continue
        data = to_csv(table).encode()
        files = {"csv": data} if len(data) <= MOST_BYTES else {"csv.gz": gzip.compress(data, mtime=0)}
        if table.num_rows <= MOST_ROWS:
            shown = publication_table.shown(name, table, closed)
            files |= {"tex": publication_table.latex(shown).encode(), "md": publication_table.markdown(shown).encode()}
        for kind, content in files.items():
            (folder / f"{name}.{kind}").write_bytes(content)
        written[name] = list(files)
    return written


def to_csv(table: pa.Table) -> str:
    """All columns with full precision; lists are joined by ``; ``, null is empty.

    A text that a spreadsheet would take for a formula, such as an error message of the application, has a ``'`` before.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [_plain_values(column) for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _plain_values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return values
    if pa.types.is_list(column.type):
        values = [None if value is None else "; ".join(map(str, value)) for value in values]
    plain = {value: _plain(value) for value in set(values)}
    return [plain[value] for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value
