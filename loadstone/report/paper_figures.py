"""The page of what a report has for each figure and table of the published studies, from a file beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_INTRODUCTION = """\
Each part of a [study file](../how-to/reproduce-a-paper.md) has a report of its own. Names of figures are those of its
files (`report/figures/latency.svg`), names of tables likewise (`report/tables/curves.csv`). A figure is drawn where the
run has data for it: the note says where it needs more than any machine has.

"""


Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""By paper what there is for each of its figures and tables."""


def markdown(found: Rows, note: str) -> str:
    """The page."""
    return f"# Figures of the published studies\n\n{note}{_INTRODUCTION}" + "\n".join(
        line for name, each in found.items() for line in _section(name, each)
    )


def _section(name: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"## {name}\n\n| published | part | figures | tables | note |\n|---|---|---|---|---|"
    for row in found:
        figures, tables = (", ".join(f"`{each}`" for each in row.get(kind, ())) for kind in ("figures", "tables"))
        note = "; ".join(row[key] for key in ("also", "why") if key in row)
        yield f"| {row['of']} | {row.get('part', '')} | {figures} | {tables} | {note} |"
    yield ""
