"""Traces made in memory: single ones span by span, and thousands of an application's whose true times are known."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis.traces.reading import SCHEMA
from loadstone.analysis.traces.spans import CLIENT, INTERNAL, SERVER

START_NS = 1_700_000_000_000_000_000
ZERO_NS = 1
"""The zero of hand-made times: a start of 0 stands for none."""
MS = 1_000_000
Row = dict[str, Any]


def span(id: int, parent: int, start: int, end: int | None, service: str = "a", **columns: Any) -> Row:
    """One row; times in ns from any zero, no end for a span that never ended. One trace and one host by default."""
    return {
        "trace_id": (1).to_bytes(16, "big"),
        "span_id": id,
        "parent_id": parent,
        "service": service,
        "replica": f"{service}-1",
        "host": "h",
        "operation": f"op{id}",
        "peer": "",
        "kind": INTERNAL,
        "start_ns": ZERO_NS + start,
        "duration_ns": -1 if end is None else end - start,
        "status": 0,
        **columns,
    }


def table(rows: Iterable[Row]) -> pa.Table:
    """The rows as ``stone spans`` leaves them: sorted by trace, start and id."""
    ordered = sorted(rows, key=lambda row: (row["trace_id"] or b"", row["start_ns"] or 0, row["span_id"]))
    return pa.Table.from_pylist(ordered, schema=SCHEMA)


def write(file: Path, rows: Iterable[Row], group: int = 1000) -> Path:
    """The rows as a file, in row groups of ``group``."""
    pq.write_table(table(rows), file, compression="zstd", row_group_size=group)
    return file


@dataclass
class Operation:
    """What a service does for one operation: its own work, in parts between which it calls others.

    Each step is a list of calls made at the same time, as (service, operation); what is in no service is a store.
    """

    work_ms: float
    steps: Sequence[Sequence[tuple[str, str]]] = ()


HOTEL: dict[tuple[str, str], Operation] = {
    ("frontend", "GET /hotels"): Operation(
        0.6,
        [
            [("search", "search.Search/Nearby")],
            [("reservation", "reservation.Reservation/CheckAvailability")],
            [("profile", "profile.Profile/GetProfiles")],
        ],
    ),
    ("search", "search.Search/Nearby"): Operation(0.4, [[("geo", "geo.Geo/Nearby")], [("rate", "rate.Rate/GetRates")]]),
    ("geo", "geo.Geo/Nearby"): Operation(0.7, [[("documents-geo", "find points")]]),
    ("rate", "rate.Rate/GetRates"): Operation(
        0.5, [[("memcached-rate", "MGET")], [("documents-rate", "find rates"), ("memcached-rate", "SET")]]
    ),
    ("reservation", "reservation.Reservation/CheckAvailability"): Operation(
        0.5, [[("memcached-reserve", "MGET"), ("documents-reservation", "count")]]
    ),
    ("profile", "profile.Profile/GetProfiles"): Operation(
        0.4, [[("memcached-profile", "MGET")], [("documents-profile", "find profiles")]]
    ),
}
"""Like Hotel Reservation's search: sequential and parallel calls, caches and documents; 19 spans a trace."""


@dataclass
class Application:
    """Makes an application's traces, the same for the same seed, whatever is changed below."""

    operations: dict[tuple[str, str], Operation] = field(default_factory=lambda: HOTEL)
    seed: int = 1
    network_ms: float = 0.15
    store_ms: float = 0.5
    delay_ms: dict[str, float] = field(default_factory=dict)
    """Added to each request in a service: its own work is that much longer."""
    clock_ms: dict[str, float] = field(default_factory=dict)
    """How far the clock of a service's host is ahead. Each service has a host of its own."""

    def rows(self, traces: int, per_second: float = 100.0) -> list[Row]:
        """The spans of so many requests, evenly spaced."""
        made: list[Row] = []
        entry = next(iter(self.operations))
        for number in range(traces):
            self._random = random.Random(f"{self.seed}/{number}")
            self._trace = self._random.getrandbits(128).to_bytes(16, "big")
            start = START_NS + int(number / per_second * 1e9)
            made += self._served(entry, 0, start)[1]
        return made

    def _served(self, what: tuple[str, str], parent: int, start: int) -> tuple[int, list[Row]]:
        """When a server span that begins now ends, and all rows it makes."""
        service, operation = what
        todo = self.operations[what]
        id = self._random.getrandbits(63) | 1
        at, rows = start, []
        for step in todo.steps:
            at += self._drawn(todo.work_ms / (len(todo.steps) + 1))
            ends = []
            for call in step:
                end, inside = self._call(service, call, id, at)
                ends.append(end)
                rows += inside
            at = max(ends)
        at += self._drawn(todo.work_ms / (len(todo.steps) + 1)) + int(self.delay_ms.get(service, 0.0) * MS)
        rows.append(self._row(id, parent, start, at, service, operation=operation, kind=SERVER))
        return at, rows

    def _call(self, caller: str, what: tuple[str, str], parent: int, start: int) -> tuple[int, list[Row]]:
        """The same of a client span."""
        id = self._random.getrandbits(63) | 1
        if what in self.operations:
            end, rows = self._served(what, id, start + self._drawn(self.network_ms))
            end += self._drawn(self.network_ms)
        else:
            end, rows = start + self._drawn(self.store_ms) + int(self.delay_ms.get(what[0], 0.0) * MS), []
        rows.append(self._row(id, parent, start, end, caller, operation=what[1], kind=CLIENT, peer=what[0]))
        return end, rows

    def _row(self, id: int, parent: int, start: int, end: int, service: str, **columns: Any) -> Row:
        shift = int(self.clock_ms.get(service, 0.0) * MS)
        columns |= {"trace_id": self._trace, "host": f"host-{service}"}
        return span(id, parent, start + shift, end + shift, service, **columns)

    def _drawn(self, mean_ms: float) -> int:
        """Gamma distributed, with half the variation of an exponential."""
        return int(self._random.gammavariate(4, mean_ms / 4) * MS)
