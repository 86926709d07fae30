"""Finds each span's parent, so that every trace becomes one tree, whatever was recorded.

The rules, for each trace, whose spans come by start:

- A span whose id another has already is left out, unless one is the client's and the other the server's end of a call
  (Zipkin): then the server span is the client span's child, and what names the id as its parent is the server span's.
- The root is the first span without a parent; where each names one, the first whose parent is not there (the caller
  was not traced); where there are only rings, the first span of the first ring.
- Every other span without a parent, or with one that is not there, hangs on the root.
- A ring of parents is cut open at its first span, which then hangs on the root.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loadstone.analysis.traces.compiled import kernel, over
from loadstone.analysis.traces.spans import CLIENT, SERVER, Ints, Rows

COUNTS = ("duplicates", "shared", "orphans", "rootless", "several_roots", "cycles")
"""The counters of each trace, documented at ``Health``."""
DUPLICATES, SHARED, ORPHANS, ROOTLESS, SEVERAL_ROOTS, CYCLES = range(len(COUNTS))
_UNKNOWN, _ABSENT, _LEFT_OUT = -2, -3, -4
_NO_PARENT = np.uint64(0)
_MIXED = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def link(
    first: Ints, span_id: NDArray[np.uint64], parent_id: NDArray[np.uint64], kind: NDArray[np.uint8]
) -> tuple[Rows, Rows, NDArray[np.bool_], Ints]:
    """Row of each span's parent (-1: root), row of each trace's root, which spans stay, and counts for each trace.

    ``counts`` is traces x ``COUNTS``.
    """
    traces = len(first) - 1
    parent = np.empty(len(span_id), np.int32)
    root = np.empty(traces, np.int32)
    counts = np.zeros((traces, len(COUNTS)), np.int64)
    over(lambda low, high: _link(first, span_id, parent_id, kind, parent, root, counts, low, high), traces)
    stays = parent > _LEFT_OUT
    return parent, root, stays, counts


@kernel
def _link(first, span_id, parent_id, kind, parent, root, counts, low, high):  # type: ignore[no-untyped-def]
    table = np.empty(64, np.int32)
    for trace in range(low, high):
        a, b = first[trace], first[trace + 1]
        size = 16
        while size < 2 * (b - a):
            size *= 2
        if size > len(table):
            table = np.empty(size, np.int32)
        for k in range(size):
            table[k] = -1
        found = counts[trace]
        _register(a, b, size, table, span_id, kind, parent, found)
        top = _find_parents(a, b, size, table, span_id, parent_id, parent, found)
        for i in range(a, b):
            if i != top and (parent[i] == -1 or parent[i] == _ABSENT):
                parent[i] = top
        root[trace] = _cut_rings(a, b, top, parent, found)


@kernel
def _slot(id, size, table, span_id):  # type: ignore[no-untyped-def]
    """Where in the hash table the id is, or would be."""
    at = np.int64((id * _MIXED) >> _SHIFT) & (size - 1)
    while table[at] >= 0 and span_id[table[at]] != id:
        at = (at + 1) & (size - 1)
    return at


@kernel
def _register(a, b, size, table, span_id, kind, parent, found):  # type: ignore[no-untyped-def]
    """Ids into the table, each with the span that children of that id belong to."""
    for i in range(a, b):
        parent[i] = _UNKNOWN
        at = _slot(span_id[i], size, table, span_id)
        other = table[at]
        if other < 0:
            table[at] = i
        elif parent[other] == _UNKNOWN and kind[other] == CLIENT and kind[i] == SERVER:
            parent[i] = other
            table[at] = i
            found[SHARED] += 1
        elif parent[other] == _UNKNOWN and kind[other] == SERVER and kind[i] == CLIENT:
            parent[other] = i
            found[SHARED] += 1
        else:
            parent[i] = _LEFT_OUT
            found[DUPLICATES] += 1


@kernel
def _find_parents(a, b, size, table, span_id, parent_id, parent, found):  # type: ignore[no-untyped-def]
    """Looks every parent up; returns the root's row, or -1 where there are nothing but rings."""
    top, top_absent = -1, -1
    parentless = 0
    for i in range(a, b):
        if parent[i] != _UNKNOWN:
            continue
        if parent_id[i] == _NO_PARENT:
            parent[i] = -1
            parentless += 1
            if top < 0:
                top = i
            continue
        other = table[_slot(parent_id[i], size, table, span_id)]
        if other >= 0:
            parent[i] = other
        else:
            parent[i] = _ABSENT
            found[ORPHANS] += 1
            if top_absent < 0:
                top_absent = i
    if parentless > 1:
        found[SEVERAL_ROOTS] += 1
    if top < 0:
        found[ROOTLESS] += 1
        if top_absent >= 0:
            top = top_absent
            parent[top] = -1
            found[ORPHANS] -= 1
    return top


@kernel
def _cut_rings(a, b, top, parent, found):  # type: ignore[no-untyped-def]
    """Cuts every ring open; returns the root, which is the first ring's first span where there was none."""
    seen = np.zeros(b - a, np.int32)
    for i in range(a, b):
        if parent[i] == _LEFT_OUT:
            continue
        j = i
        while j >= 0 and seen[j - a] == 0:
            seen[j - a] = i - a + 1
            j = parent[j]
        if j >= 0 and seen[j - a] == i - a + 1:
            least, k = j, parent[j]
            while k != j:
                least = min(least, k)
                k = parent[k]
            parent[least] = top
            found[CYCLES] += 1
            if top < 0:
                top = least
    return top
