"""When each span began and ended: hosts' clocks shifted, and an end for spans that never ended."""

from __future__ import annotations

import numpy as np

from loadstone.analysis.traces.compiled import kernel
from loadstone.analysis.traces.spans import Ints, SpanColumns


def times(spans: SpanColumns, shift_ns: Ints) -> tuple[Ints, Ints, int]:
    """Start and end of every span in ns, and how many never ended. ``shift_ns``: what to add to each host's clock.

    A span that never ended is taken to end with its parent, at its own start if that is later; a root with the last
    that is known of its trace.
    """
    start: Ints = spans.start_ns + shift_ns[spans.host.codes] if shift_ns.any() else spans.start_ns
    end: Ints = start + spans.duration_ns
    open_rows = np.flatnonzero(spans.duration_ns < 0).astype(np.int32)
    if len(open_rows):
        _close(open_rows, spans.first, spans.parent, start, spans.duration_ns, end)
    return start, end, len(open_rows)


@kernel
def _close(open_rows, first, parent, start, duration, end):  # type: ignore[no-untyped-def]
    """``end`` of an open span is below its start until it is known."""
    chain = np.empty(len(open_rows), np.int32)
    for row in open_rows:
        length, i = 0, row
        while i >= 0 and end[i] < start[i]:
            chain[length] = i
            length += 1
            top = i
            i = parent[i]
        if length == 0:
            continue
        if i >= 0:
            at = end[i]
        else:
            trace = np.searchsorted(first, top, side="right") - 1
            at = start[top]
            for k in range(first[trace], first[trace + 1]):
                at = max(at, start[k], end[k])
        for k in range(length - 1, -1, -1):
            at = max(at, start[chain[k]])
            end[chain[k]] = at
