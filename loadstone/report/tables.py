"""Tables as files: CSV for machines, LaTeX for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.grid import Grid
from loadstone.report import format

_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "≤": r"$\leq$",
        "–": "--",
    }
)


def to_csv(table: pa.Table) -> str:
    """All columns with full precision; lists are joined by ``; ``, null is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow([_plain(value) for value in row.values()])
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def breaking_points_latex(rows: Sequence[dict[str, Any]]) -> str:
    """The table of breaking points for a paper (package booktabs)."""
    lines = [
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        r"Treatment & Breaking point & 95\,\% interval & Capacity & 95\,\% interval & Trials \\",
        r"\midrule",
    ]
    for row in rows:
        name = row["treatment"] + (f" (search {row['search']})" if row["search"] is not None else "")
        cells = [
            name,
            format.number(row["breaking_point"]),
            format.interval(row["breaking_point_low"], row["breaking_point_high"]),
            format.number(row["capacity"]),
            format.interval(row["capacity_low"], row["capacity_high"]),
            format.count(row["full_trials"] + row["bracket_trials"]),
        ]
        lines.append(" & ".join(cell.translate(_LATEX) for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def grid_latex(grid: Grid) -> str:
    """The grid of breaking points with their intervals for a paper (package booktabs)."""
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
        r"\toprule",
        " & ".join(["Treatment", *(column.translate(_LATEX) for column in grid.columns)]) + r" \\",
        r"\midrule",
    ]
    for name, estimates in zip(grid.rows, grid.cells, strict=True):
        cells = [name, *(_point(estimate) for estimate in estimates)]
        lines.append(" & ".join(cell.translate(_LATEX) for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _point(estimate: Estimate | None) -> str:
    if estimate is None:
        return format.NOTHING
    return f"{format.number(estimate.value)} {format.interval(estimate.low, estimate.high)}"
