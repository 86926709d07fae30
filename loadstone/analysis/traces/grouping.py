"""Spans by group: numbers for keys, and exact percentiles of each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loadstone.analysis.percentiles import of_sorted
from loadstone.analysis.traces.compiled import kernel
from loadstone.analysis.traces.spans import Codes, Ints, Rows


def by(*columns: Codes) -> tuple[Rows, list[tuple[str, ...]]]:
    """The group of each span and the texts of each group, in the order in which they were first seen."""
    sizes = [max(len(column.names), 1) for column in columns]
    keys = np.zeros(len(columns[0].codes), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys *= size
        keys += column.codes
    groups, distinct = numbered(keys)
    parts = np.unravel_index(distinct, sizes)
    texts = [[column.names[code] for code in part] for column, part in zip(columns, parts, strict=True)]
    return groups, list(zip(*texts, strict=True))


@kernel
def numbered(keys):  # type: ignore[no-untyped-def]
    """Numbers for keys, from 0 in the order of their first appearance, and the keys by number."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    size = 1024
    table = np.full(size, -1, np.int32)
    distinct = np.empty(size, np.int64)
    numbers = np.empty(len(keys), np.int32)
    count = 0
    for i in range(len(keys)):
        key = keys[i]
        at = np.int64((np.uint64(key) * mixed) >> np.uint64(32)) & (size - 1)
        while table[at] >= 0 and distinct[table[at]] != key:
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = count
            distinct[count] = key
            count += 1
            numbers[i] = count - 1
            if 2 * count >= size:
                size *= 2
                grown = np.empty(size, np.int64)
                table = np.full(size, -1, np.int32)
                for k in range(count):
                    grown[k] = distinct[k]
                    at = np.int64((np.uint64(distinct[k]) * mixed) >> np.uint64(32)) & (size - 1)
                    while table[at] >= 0:
                        at = (at + 1) & (size - 1)
                    table[at] = k
                distinct = grown
        else:
            numbers[i] = table[at]
    return numbers, distinct[:count]


def percentiles(values: Ints, groups: Rows, count: int, wanted: tuple[float, ...]) -> NDArray[np.float64]:
    """Groups x percentiles: the smallest value that at least q % of the group do not exceed; NaN for an empty group."""
    sizes = np.bincount(groups, minlength=count)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    together = _gathered(values, groups, edges[:-1].copy())
    found = np.full((count, len(wanted)), np.nan)
    for group in np.flatnonzero(sizes):
        of_group = together[edges[group] : edges[group + 1]]
        of_group.sort()
        found[group] = of_sorted(of_group, wanted)
    return found


@kernel
def _gathered(values, groups, at):  # type: ignore[no-untyped-def]
    """The values group by group; ``at`` is where each group begins."""
    together = np.empty_like(values)
    for i in range(len(values)):
        group = groups[i]
        together[at[group]] = values[i]
        at[group] += 1
    return together
