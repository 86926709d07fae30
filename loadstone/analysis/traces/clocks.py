"""Estimates the offsets between hosts' clocks from calls between them.

A server span lies within its client span. With L = client's start - server's start and U = client's end - server's
end, what has to be added to the server host's clock lies between L and U, whatever the network did (Cristian,
"Probabilistic clock synchronization", Distributed Computing 3, 1989). The shorter the call was besides the server's
work, the closer are the bounds. Of all calls between two hosts:

- the bounds on the offset are those that the most calls agree on (Marzullo's intersection, as in NTP): a call that was
  given up by its client can break its bounds;
- if 0 agrees with nearly as many (95 %), nothing contradicts the clocks, and the offset is 0;
- else it is the median of (L + U) / 2 of the tenth of the calls with the closest bounds, moved into the bounds.

Offsets are added up from the root's host outward, over the pairs of hosts with the most calls (a maximum spanning
tree). Taken as constant over the trial: clocks that are set or slewed meanwhile are not corrected for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from loadstone.analysis import schema
from loadstone.analysis.traced_rows import ClockOffset
from loadstone.analysis.traces.compiled import kernel
from loadstone.analysis.traces.spans import CLIENT, SERVER, Ints, SpanColumns

_ENOUGH = 20_000
"""The most calls used for each pair of hosts, evenly chosen."""
_NEARLY = 0.95
_FURTHEST = 2**60


@dataclass(frozen=True)
class Clocks:
    """``shift_ns`` is the correction of each host's clock, ``pairs`` the number of calls used."""

    shift_ns: Ints
    pairs: Ints
    hosts: tuple[str, ...]

    def table(self) -> pa.Table:
        """One row per host."""
        rows = sorted(zip(self.hosts, self.shift_ns.tolist(), self.pairs.tolist(), strict=True))
        offsets = (ClockOffset(host=host, offset_ms=-shift / 1e6, pairs=pairs) for host, shift, pairs in rows)
        return schema.table(ClockOffset, offsets)


def compare(spans: SpanColumns) -> Clocks:
    """The clocks of all hosts of these spans."""
    hosts = len(spans.host.names)
    shift, used = np.zeros(hosts, np.int64), np.zeros(hosts, np.int64)
    offsets = _offsets(spans)
    if not offsets:
        return Clocks(shift, used, spans.host.names)
    top = int(np.bincount(spans.host.codes[spans.root], minlength=hosts).argmax())
    reached = {top}
    while border := [(pairs, a, b) for (a, b), (_, pairs) in offsets.items() if a in reached and b not in reached]:
        pairs, a, b = max(border)
        shift[b] = np.clip(shift[a] + offsets[a, b][0], -_FURTHEST, _FURTHEST)
        used[b] = pairs
        reached.add(b)
    return Clocks(shift, used, spans.host.names)


def _offsets(spans: SpanColumns) -> dict[tuple[int, int], tuple[int, int]]:
    """For hosts (a, b), both ways: the correction that makes b's clock agree with a's, and the number of calls used."""
    called = np.zeros(len(spans), np.bool_)
    ids = spans.span_id, spans.parent_id
    _mark_calls(spans.parent, *ids, spans.kind, spans.host.codes, spans.duration_ns, called)
    calls = np.flatnonzero(called)
    if not len(calls):
        return {}
    hosts = len(spans.host.names)
    calling, serving = spans.host.codes[spans.parent[calls]].astype(np.int64), spans.host.codes[calls]
    key = np.minimum(calling, serving) * hosts + np.maximum(calling, serving)
    order = np.argsort(key, kind="stable")
    edges = [0, *(np.flatnonzero(np.diff(key[order])) + 1).tolist(), len(calls)]
    offsets = {}
    for low, high in pairwise(edges):
        some = calls[order[low : high : max(1, (high - low) // _ENOUGH)]]
        a, b = divmod(int(key[order[low]]), hosts)
        offset = _offset(spans, some, a)
        offsets[a, b], offsets[b, a] = (offset, high - low), (-offset, high - low)
    return offsets


def _offset(spans: SpanColumns, servers: Ints, a: int) -> int:
    """What to add to the clock of the other host for it to agree with ``a``'s."""
    clients = spans.parent[servers]
    low = spans.start_ns[clients] - spans.start_ns[servers]
    high = low + spans.duration_ns[clients] - spans.duration_ns[servers]
    forth = spans.host.codes[clients] == a
    low, high = np.where(forth, low, -high), np.where(forth, high, -low)
    lows, highs = np.sort(low), np.sort(high)
    agree = np.arange(1, len(lows) + 1) - np.searchsorted(highs, lows)
    best = int(np.argmax(agree))
    if np.searchsorted(lows, 0, "right") - np.searchsorted(highs, 0) >= _NEARLY * agree[best]:
        return 0
    least, most = int(lows[best]), int(highs[np.searchsorted(highs, lows[best])])
    slack = high - low
    closest = slack <= np.quantile(slack, 0.1)
    estimate = int(np.median(low[closest] + slack[closest] // 2))
    return min(max(estimate, least), most)


@kernel
def _mark_calls(parent, span_id, parent_id, kind, host, duration, called):  # type: ignore[no-untyped-def]
    """Server spans that a client span of another host called and that were not longer than it."""
    for i in range(len(parent)):
        p = parent[i]
        if p >= 0 and kind[i] == SERVER and kind[p] == CLIENT and host[i] != host[p]:
            named = parent_id[i] == span_id[p] or span_id[i] == span_id[p]  # not what only hangs on it, as orphans do
            called[i] = named and 0 <= duration[i] <= duration[p]
