"""The critical path of every trace and the exclusive time of every span.

Source: Zhang et al., "CRISP: Critical Path Analysis of Large-Scale Microservice Architectures", USENIX ATC 2022. The
path is walked backwards from the end of the root: of a span's children, the last to finish is on it; from that one's
start on backwards, the last that had finished by then, and so on; within each of them likewise. A child counts only
where it lies within its parent.

Three rules are not the published ones: a child that outlives its parent counts only where the others take up to 1 % of
its time; children that overlap by up to 1 % of their parent's duration follow each other; of equal calls of which one
failed just after another succeeded, as a hedged call that is cancelled does, the one that succeeded counts.
Docs/explanation/critical-path.md has the reasons and examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadstone.analysis.traces.compiled import kernel, over
from loadstone.analysis.traces.spans import Ints, Rows

OUTLIVING, EARLY, OVERLAPPING, EMPTY = range(4)
_RUN = 16
_SLACK = 100
"""Times that differ by less than a parent's duration over this are taken for the same among its children."""
_EQUAL_CALLS = 16
"""Siblings that are looked at for one that makes another a cancelled one: a bound on the work."""


@dataclass(frozen=True)
class Critical:
    """Times in ns, by span."""

    exclusive: Ints
    """The span's duration less the time in which a child of it ran (within the span)."""
    on_path: Ints
    """Exclusive time on the critical path: what no child *on the path* covers; -1 for a span that is not on it. The sum
    over a trace is its root's duration, exactly."""
    order: Rows
    """The rows on the path, parents before children; trace t's fill the first places from ``first[t]`` on, then -1."""
    outliving: int
    early: int
    overlapping: int
    empty: int


def walk(
    first: Ints, parent: Rows, root: Rows, start: Ints, end: Ints, call: Rows, failed: NDArray[np.bool_]
) -> Critical:
    """The paths of all traces. ``start`` and ``end`` in ns; no span may end before it starts.

    ``call`` numbers what is called, the same for spans that do the same; ``failed`` is whether they did.
    """
    size = len(parent)
    exclusive, on_path = np.empty(size, np.int64), np.full(size, -1, np.int64)
    order = np.full(size, -1, np.int32)

    def piece(low: int, high: int) -> Ints:
        counts: Ints = _walk(first, parent, root, start, end, call, failed, exclusive, on_path, order, low, high)
        return counts

    counts = sum(over(piece, len(root)), np.zeros(4, np.int64))
    return Critical(exclusive, on_path, order, *(int(count) for count in counts))


@kernel
def _walk(first, parent, root, start, end, call, failed, exclusive, on_path, order, low, high):  # type: ignore[no-untyped-def]
    longest = 1
    for trace in range(low, high):
        longest = max(longest, first[trace + 1] - first[trace])
    # All by place in the trace: rows by end and room to sort them, first child and next sibling, clipped times.
    rows, spare = np.empty(longest, np.int32), np.empty(longest, np.int32)
    child, sibling = np.empty(longest, np.int32), np.empty(longest, np.int32)
    begins, ends = np.empty(longest, np.int64), np.empty(longest, np.int64)
    counts = np.zeros(4, np.int64)
    for trace in range(low, high):
        a, b = first[trace], first[trace + 1]
        _family(a, b, parent, end, rows, spare, child, sibling)
        for i in range(a, b):
            exclusive[i] = _uncovered(i, a, start, end, child, sibling, counts)
        _backwards(a, root[trace], start, end, call, failed, child, sibling, begins, ends, on_path, order, spare)
    return counts


@kernel
def _family(a, b, parent, end, rows, spare, child, sibling):  # type: ignore[no-untyped-def]
    """Lists of children, the last to end first; of those that end together, the first that began."""
    size = b - a
    for k in range(size):
        rows[k] = b - 1 - k
        child[k] = -1
    _sort_by_end(rows, spare, size, end)
    for k in range(size):
        i = rows[k]
        p = parent[i]
        if p >= 0:
            sibling[i - a] = child[p - a]
            child[p - a] = i


@kernel
def _sort_by_end(rows, spare, size, end):  # type: ignore[no-untyped-def]
    """Stable: runs are sorted by insertion, then merged."""
    for low in range(0, size, _RUN):
        for k in range(low + 1, min(low + _RUN, size)):
            row = rows[k]
            at = end[row]
            j = k
            while j > low and end[rows[j - 1]] > at:
                rows[j] = rows[j - 1]
                j -= 1
            rows[j] = row
    width = _RUN
    while width < size:
        for low in range(0, size, 2 * width):
            middle, high = min(low + width, size), min(low + 2 * width, size)
            left, right = low, middle
            for k in range(low, high):
                if right >= high or (left < middle and end[rows[left]] <= end[rows[right]]):
                    spare[k] = rows[left]
                    left += 1
                else:
                    spare[k] = rows[right]
                    right += 1
        for k in range(size):
            rows[k] = spare[k]
        width *= 2


@kernel
def _uncovered(i, a, start, end, child, sibling, counts):  # type: ignore[no-untyped-def]
    """The span's duration less what its children cover of it; counts what is odd about them."""
    begin, finish = start[i], end[i]
    if begin == finish:
        counts[EMPTY] += 1
    slack = (finish - begin) // _SLACK
    left = finish - begin
    reached = finish
    earliest = np.int64(2**63 - 1)
    c = child[i - a]
    while c >= 0:
        counts[OUTLIVING] += end[c] > finish
        counts[EARLY] += start[c] < begin
        counts[OVERLAPPING] += end[c] - slack > earliest
        earliest = min(earliest, start[c])
        low, high = max(start[c], begin), min(end[c], reached)
        if low < high:
            left -= high - low
            reached = low
        c = sibling[c - a]
    return left


@kernel
def _backwards(a, root, start, end, call, failed, child, sibling, begins, ends, on_path, order, stack):  # type: ignore[no-untyped-def]
    """Walks one trace from the end of its root; ``begins`` and ``ends`` are spans' times within all their ancestors."""
    begins[root - a], ends[root - a] = start[root], end[root]
    stack[0], waiting, found = root, 1, a
    while waiting > 0:
        waiting -= 1
        i = stack[waiting]
        order[found] = i
        found += 1
        begin, finish = begins[i - a], ends[i - a]
        slack = (end[i] - start[i]) // _SLACK
        left = finish - begin
        reached = finish
        outlived = -1  # by the child that outlives it least
        first = waiting
        c = child[i - a]
        while c >= 0:
            low, high = max(start[c], begin), min(end[c], finish)
            if end[c] > end[i] + slack:
                if low < high and (outlived < 0 or end[c] < end[outlived]):
                    outlived = c
            elif (
                low <= high
                and (high <= reached or (high <= reached + slack and low < reached))
                and not (failed[c] and _cancelled(c, a, start, end, call, failed, sibling, slack))
            ):
                high = min(high, reached)
                left -= high - low
                reached = low
                begins[c - a], ends[c - a] = low, high
                stack[waiting] = c
                waiting += 1
            c = sibling[c - a]
        if outlived >= 0 and finish - begin - left <= slack:
            low = max(start[outlived], begin)
            left = low - begin
            last, waiting = waiting, first
            for k in range(first, last):  # of the others counts what lies before it
                c = stack[k]
                if begins[c - a] < low:
                    ends[c - a] = min(ends[c - a], low)
                    left -= ends[c - a] - begins[c - a]
                    stack[waiting] = c
                    waiting += 1
            begins[outlived - a], ends[outlived - a] = low, finish
            stack[waiting] = outlived
            waiting += 1
        on_path[i] = left


@kernel
def _cancelled(c, a, start, end, call, failed, sibling, slack):  # type: ignore[no-untyped-def]
    """Whether a failed child ended just after an equal one had succeeded beside it."""
    other = sibling[c - a]
    for _ in range(_EQUAL_CALLS):
        if other < 0 or end[other] < end[c] - slack:
            return False
        if call[other] == call[c] and not failed[other] and end[other] > start[c]:
            return True
        other = sibling[other - a]
    return False
