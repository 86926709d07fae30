"""A table of numbers that cuts none of them: where a terminal is too narrow, each stands on a line of its own."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 3
_WRAPPED = 12
"""The least width of a first column that wraps."""


class NumberTable:
    """Rows of a name and numbers; ``wraps`` is for names that may be sentences."""

    def __init__(self, *columns: str, wraps: bool = False) -> None:
        self._columns, self._wraps = columns, wraps
        self._rows: list[tuple[Text, ...]] = []

    def add_row(self, name: Text | str, *numbers: str) -> None:
        self._rows.append(tuple(Text(cell) if isinstance(cell, str) else cell for cell in (name, *numbers)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._width() <= options.max_width:
            yield self._table()
        else:
            yield from self._lines()

    def _width(self) -> int:
        heads = tuple(map(Text, self._columns))
        columns = zip(heads, *self._rows, strict=True)
        widths: list[int] = [max(cell.cell_len for cell in column) for column in columns]
        first, *others = widths
        return (min(first, _WRAPPED) if self._wraps else first) + sum(others) + _GAP * len(others)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        for index, name in enumerate(self._columns):
            table.add_column(
                name, justify="right" if index else "left", no_wrap=index > 0 or not self._wraps, overflow="fold"
            )
        for row in self._rows:
            table.add_row(*row)
        return table

    def _lines(self) -> RenderResult:
        if self._columns[0]:
            yield Text(self._columns[0], "dim")
        for name, *numbers in self._rows:
            yield name
            for column, number in zip(self._columns[1:], numbers, strict=True):
                if number.plain:
                    yield Text.assemble("  ", (f"{column} " if column else "", "dim"), number)
