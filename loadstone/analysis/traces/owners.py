"""Whose time a span's own time is.

- A server or internal span's: its service's.
- A client span's, where the server span was recorded: its own service's, as time on the network and in queues on the
  way to the called service, which is named beside it.
- A client span's, where no server span was recorded: the peer's, if it names one. So time in stores, which record no
  spans, counts for the stores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.analysis.traces.compiled import kernel
from loadstone.analysis.traces.spans import CLIENT, SERVER, Codes, Rows, SpanColumns


@dataclass(frozen=True)
class Owners:
    """By span; both columns have the names of ``service``."""

    service: Codes
    callee: Rows
    """For a client span whose server span is there the called service, else -1."""


def owners(spans: SpanColumns) -> Owners:
    """The owner of every span's own time."""
    names = dict.fromkeys([*spans.service.names, *spans.peer.names])
    number = {name: code for code, name in enumerate(names)}
    of_peer = np.array([number[name] if name else -1 for name in spans.peer.names], np.int32)
    owner = spans.service.codes.copy()  # the services come first among the names, with their own codes
    callee = np.full(len(spans), -1, np.int32)
    ids, kind = (spans.span_id, spans.parent_id), spans.kind
    _own(spans.parent, *ids, kind, spans.service.codes, spans.peer.codes, of_peer, owner, callee)
    return Owners(Codes(owner, tuple(names)), callee)


@kernel
def _own(parent, span_id, parent_id, kind, service, peer, of_peer, owner, callee):  # type: ignore[no-untyped-def]
    for i in range(len(parent)):
        p = parent[i]
        if p < 0 or kind[i] != SERVER or kind[p] != CLIENT:
            continue
        if parent_id[i] == span_id[p] or span_id[i] == span_id[p]:  # not what only hangs on it, as orphans do
            callee[p] = service[i]
    for i in range(len(parent)):
        if kind[i] == CLIENT and callee[i] < 0 and of_peer[peer[i]] >= 0:
            owner[i] = of_peer[peer[i]]
