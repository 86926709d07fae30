"""Spans as columns: what is read from ``spans.parquet``, sorted by trace and start, with every span's parent found."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
"""Numbers of rows (spans); -1 is none."""
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = range(1, 6)
"""``kind`` as OTLP numbers it."""
ERROR = 2
"""``status`` as OTLP numbers it."""


@dataclass(frozen=True)
class Codes:
    """A column of text: span i has ``names[codes[i]]``."""

    codes: Rows
    names: tuple[str, ...]

    def take(self, which: Any) -> Codes:
        """The column of some of the spans."""
        return Codes(self.codes[which], self.names)

    def at(self, row: int) -> str:
        """The text of one span."""
        return self.names[int(self.codes[row])]


@dataclass(frozen=True)
class Health:
    """Anomalies of the spans; docs/explanation/critical-path.md has the treatment of each.

    Counts of the traces that were analysed, except ``outside`` and ``unusable``. ``unfinished`` and what follows are
    known after the analysis, and depend on the correction of clocks; they are 0 before.
    """

    traces: int = 0
    spans: int = 0
    outside: int = 0
    """Traces left out: their root did not start in the window."""
    unusable: int = 0
    """Spans left out, of the whole file: no trace's id, or times that cannot be."""
    duplicates: int = 0
    """Spans left out: another of their trace has their id (and is not the other end of the same call)."""
    shared: int = 0
    """Server spans with the id of their client span, as Zipkin writes them."""
    orphans: int = 0
    """Spans whose parent is not in the trace; they hang on the root."""
    rootless: int = 0
    """Traces in which every span names a parent; their first orphan is the root."""
    several_roots: int = 0
    """Traces with more than one span without a parent; the first is the root, the others hang on it."""
    cycles: int = 0
    """Rings of spans that are each other's ancestors; each was cut open at its first span, which hangs on the root."""
    unfinished: int = 0
    """Spans that never ended; each is taken to end with its parent, a root with the last of its trace."""
    outliving: int = 0
    """Spans that end after their parent, which did not wait for them unless nothing else explains its time."""
    early: int = 0
    """Spans that begin before their parent: the path counts them from its start."""
    overlapping: int = 0
    """Spans that were still running when a sibling had begun that ended after them: parallel calls."""
    empty: int = 0
    """Spans of no length."""


@dataclass(frozen=True)
class SpanColumns:
    """All spans of a file or a window of it. Trace t has the rows ``first[t]`` to ``first[t + 1] - 1``, by start."""

    first: Ints
    trace_id: NDArray[np.uint8]
    """Traces x 16 bytes."""
    root: Rows
    """Row of each trace's root."""
    span_id: NDArray[np.uint64]
    parent_id: NDArray[np.uint64]
    """As it was recorded; 0 is none."""
    parent: Rows
    """Row of the parent, -1 for a root: a tree whatever was recorded."""
    service: Codes
    replica: Codes
    host: Codes
    operation: Codes
    peer: Codes
    kind: NDArray[np.uint8]
    status: NDArray[np.uint8]
    start_ns: Ints
    """Unix time of the host's own clock."""
    duration_ns: Ints
    """-1: never ended."""
    health: Health
    errors: tuple[str, ...] = ()
    """What Jaeger stated in the file that it could not give."""

    def __len__(self) -> int:
        return len(self.span_id)

    @property
    def traces(self) -> int:
        """How many traces there are."""
        return len(self.root)

    def hex_id(self, trace: int) -> str:
        """The trace's id as other tools write it: 32 digits."""
        return bytes(self.trace_id[trace]).hex()

    def keep(self, rows: NDArray[np.bool_], health: Health) -> SpanColumns:
        """Only these spans, which must be closed under parent, and the traces that have any of them."""
        moved = np.cumsum(rows, dtype=np.int32) - np.int32(1)
        edges = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])[self.first]
        traces = edges[1:] > edges[:-1]
        first = np.concatenate([edges[:-1][traces], edges[-1:]])
        parent = self.parent[rows]
        kept: dict[str, Any] = {
            column.name: value.take(rows) if isinstance(value, Codes) else value[rows]
            for column in fields(self)
            if column.name in _OF_SPANS
            for value in [getattr(self, column.name)]
        }
        return SpanColumns(
            first=first,
            trace_id=self.trace_id[traces],
            root=moved[self.root[traces]],
            parent=np.where(parent >= 0, moved[parent], np.int32(-1)),
            health=health,
            errors=self.errors,
            **kept,
        )


_TEXTS = ("service", "replica", "host", "operation", "peer")
_OF_SPANS = {*_TEXTS, "span_id", "parent_id", "kind", "status", "start_ns", "duration_ns"}
