"""A table for publication: heads with units, rounded numbers, a value with its interval in one cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from loadstone.model.records.bounds import RANKED
from loadstone.model.records.trial_row import FACTOR_PREFIX
from loadstone.report import format

_CHOSEN: dict[str, tuple[str, ...]] = {
    "breaking_points": (
        *("treatment", "search", "known", "capacity", "breaking_point"),
        *("full_trials", "bracket_trials", "confirmed", "off_share"),
    ),
    "trials": (
        *("order", "treatment", "phase", "rate", "clients", "repetition", "window_s", "offered", "completed"),
        *("throughput", "p50_ms", "p99_ms", "p999_ms", "verdict", "aborted_at_s"),
    ),
}
"""The columns that are shown of the widest tables; their CSV has all."""
BOUND = "latency_bound_ms"
BOUNDED = tuple(f"{name}_ms" for name in RANKED)
_AROUND = {"published": "range", "ratio": "interval or range", "other": "interval or range"}
"""What a column's low and high end are where that is not always its 95 % interval."""
_ENDS = ("low", "high")
_INTERVAL = "95 % interval"
_MIXED = ("published", "claims")
"""Tables whose columns ``low`` and ``high`` are of intervals and of ranges."""
_LONG = 40
"""Rows from which on a table goes over several pages."""


@dataclass(frozen=True)
class TextTable:
    """Heads and cells, all as text; ``numbers``: which columns are aligned right."""

    heads: list[str]
    rows: list[list[str]]
    numbers: list[bool]


@dataclass(frozen=True)
class _Unit:
    text: str
    factor: float = 1.0
    """What a value is multiplied by to be shown in it."""


_REQUESTS = _Unit("requests/s")
_UNITS = {
    **dict.fromkeys(("load", "rate", "throughput", "breaking_point", "capacity", "offered_per_s"), _REQUESTS),
    **dict.fromkeys(("cores", "limit_cores"), _Unit("cores")),
    "joules": _Unit("J"),
    "joules_per_request": _Unit("J"),
}
_ENDINGS = {
    "_bytes_per_s": _Unit("MiB/s", 2**-20),
    "_bytes": _Unit("MiB", 2**-20),
    "_share": _Unit("%", 100.0),
    "_per_s": _Unit("1/s"),
    "_cores": _Unit("cores"),
    "_watts": _Unit("W"),
    "_ghz": _Unit("GHz"),
    "_ms": _Unit("ms"),
    "_us": _Unit("us"),
    "_s": _Unit("s"),
}
_ABBREVIATIONS = {"p999": "P99.9", "aborted": "broke", "cpu": "CPU", "dram": "DRAM", "id": "ID", "aa": "A/A"}


def shown(name: str, table: pa.Table, closed: bool = False) -> TextTable:
    """The table ``name`` without empty columns; the loads of a ``closed`` loop are its clients.

    A latency or a breaking point that is null is shown by its bounds, where any are known.

    A column ``x`` between ``x_low`` and ``x_high`` is shown with these as its interval. The unit of a column is the
    ``unit`` in the metadata of its field, else that of its name (``_ms``, ``_share``, ``_bytes``, ...).
    """
    chosen = [column for column in _CHOSEN.get(name, table.column_names) if column in table.column_names]
    heads, columns, numbers = [], [], []
    for column in chosen:
        unit, head = _unit(table.schema.field(column))
        if closed and column == "load":
            unit = _Unit("clients")
        text = _text(table.schema.field(column).type, unit)
        bounds = _bounds(name, column, table, text)
        values = table[column].to_pylist()
        if _is_end(column, chosen) or column == BOUND or not any(map(_known, values, bounds)):
            continue
        if column in ("low", "high", "low_ms", "high_ms"):
            head += f" end of {_AROUND['ratio'] if name in _MIXED else _INTERVAL}"
        ends = [f"{column}_low", f"{column}_high"]
        cells = [bound if value is None and bound else text(value) for value, bound in zip(values, bounds, strict=True)]
        if all(end in table.column_names for end in ends):
            around = zip(*(table[end].to_pylist() for end in ends), strict=True)
            cells = [_with(cell, low, high, text) for cell, (low, high) in zip(cells, around, strict=True)]
            head += f" [{_AROUND.get(column, _INTERVAL)}]"
        heads.append(f"{head} ({unit.text})" if unit.text else head)
        columns.append(cells)
        numbers.append(pa.types.is_floating(table[column].type) or pa.types.is_integer(table[column].type))
    return TextTable(heads, [list(row) for row in zip(*columns, strict=True)], numbers)


def _bounds(name: str, column: str, table: pa.Table, text: Callable[[Any], str]) -> list[str]:
    """Between what a value lies in each row where it is null; empty where nothing is known."""
    if column in BOUNDED and BOUND in table.column_names:
        return [_between(bound, None, text) for bound in table[BOUND].to_pylist()]
    if (name, column) == ("breaking_points", "breaking_point"):
        return [_between(low, high, text) for low, high in zip(*(table[end].to_pylist() for end in _ENDS), strict=True)]
    return [""] * table.num_rows


def _between(low: Any, high: Any, text: Callable[[Any], str]) -> str:
    if low is not None and high is not None:
        return f"{text(low)} to {text(high)}"
    return f"> {text(low)}" if low is not None else f"< {text(high)}" if high is not None else ""


def _known(value: Any, bound: str) -> bool:
    return value is not None or bool(bound)


def _is_end(name: str, names: Sequence[str]) -> bool:
    """Whether it is an end of another column's interval."""
    whole, _, end = name.rpartition("_")
    return end in _ENDS and whole in names


def _with(cell: str, low: Any, high: Any, text: Callable[[Any], str]) -> str:
    return cell if low is None or high is None else f"{cell} [{text(low)}, {text(high)}]"


def _unit(field: pa.Field) -> tuple[_Unit, str]:
    """The unit of a column, and its name as text without it."""
    name = field.name.removeprefix(FACTOR_PREFIX)
    given = (field.metadata or {}).get(b"unit", b"").decode() or None
    ending = next((end for end in _ENDINGS if name.endswith(end) and name not in _UNITS), "")
    unit = _UNITS.get(name) or (_ENDINGS[ending] if ending else _Unit(""))
    if given is not None and not (given == "share" and ending):
        unit = _Unit("%", 100.0) if given == "share" else _Unit(given)
    head = " ".join(_word(word) for word in name.removesuffix(ending).split("_"))
    return unit, head[:1].upper() + head[1:]


def _word(word: str) -> str:
    return _ABBREVIATIONS.get(word) or (word.upper() if word[:1] == "p" and word[1:].isdigit() else word)


def _text(type: pa.DataType, unit: _Unit) -> Callable[[Any], str]:
    if pa.types.is_boolean(type):
        return lambda value: {True: "yes", False: "no", None: format.NOTHING}[value]
    if pa.types.is_floating(type):
        return lambda value: format.NOTHING if value is None else format.number(value * unit.factor)
    if pa.types.is_integer(type):
        factor = unit.factor
        return lambda value: format.count(value) if value is None or factor == 1 else format.number(value * factor)
    if pa.types.is_list(type):
        return lambda value: "; ".join(map(str, value or ()))
    return lambda value: format.NOTHING if value is None else str(value)


_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "\n": " ",
        "≤": r"$\leq$",
        "∞": r"$\infty$",
        "–": "--",
    }
)


def latex(table: TextTable) -> str:
    """For a paper with the package booktabs; a long one goes over pages, with longtable."""
    columns = "".join("r" if number else "l" for number in table.numbers)
    head = " & ".join(head.translate(_LATEX) for head in table.heads) + r" \\"
    rows = [" & ".join(_cell(cell) for cell in row) + r" \\" for row in table.rows]
    if len(table.rows) > _LONG:
        top = [r"% needs: \usepackage{booktabs,longtable}", rf"\begin{{longtable}}{{{columns}}}"]
        begin, end = [*top, r"\toprule", head, r"\midrule", r"\endhead"], r"\end{longtable}"
    else:
        top = [r"% needs: \usepackage{booktabs}", rf"\begin{{tabular}}{{{columns}}}"]
        begin, end = [*top, r"\toprule", head, r"\midrule"], r"\end{tabular}"
    return "\n".join([*begin, *rows, r"\bottomrule", end, ""])


def _cell(text: str) -> str:
    """Escaped; a bracket or a star at its start is no option of the line before."""
    escaped = text.translate(_LATEX)
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped


_MARKDOWN = str.maketrans({"\n": " ", **{character: f"\\{character}" for character in "\\|<*`"}})


def markdown(table: TextTable) -> str:
    """As GitHub and others show it."""
    lines = [
        [head.translate(_MARKDOWN) for head in table.heads],
        ["---:" if number else "---" for number in table.numbers],
        *([cell.translate(_MARKDOWN) for cell in row] for row in table.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
