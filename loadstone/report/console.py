"""Text and tables for a terminal, as the report and the commands print them."""

from __future__ import annotations

from collections.abc import Collection

from rich import box
from rich.table import Table
from rich.text import Text


def bold(text: str) -> Text:
    """What stands between ``**`` in bold."""
    result = Text()
    for index, part in enumerate(text.split("**")):
        result.append(part, style="bold" if index % 2 else "")
    return result


def titled(title: str, *columns: str, texts: Collection[str] | None = None) -> Table:
    """An empty table: numbers to the right, the columns of ``texts`` to the left, which is the first if not given."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    left = columns[:1] if texts is None else texts
    for name in columns:
        if name in left:
            table.add_column(name, overflow="fold")
        else:  # part of a number would be another number: what is cut ends with an ellipsis
            table.add_column(name, justify="right", no_wrap=True, overflow="ellipsis")
    return table
