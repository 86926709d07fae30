"""Spans of made-up requests to the synthetic application, as the collector writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SERVER, CLIENT = 2, 3
SCHEMA = pa.schema(
    [
        ("trace_id", pa.binary(16)),
        ("span_id", pa.uint64()),
        ("parent_id", pa.uint64()),
        *(
            (name, pa.dictionary(pa.int32(), pa.string()))
            for name in ("service", "replica", "host", "operation", "peer")
        ),
        ("kind", pa.uint8()),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("status", pa.uint8()),
    ]
)


@dataclass(frozen=True)
class Call:
    """An operation of a service, its own time in ms, how that grows with the load, and what it calls in turn."""

    service: str
    operation: str
    own_ms: float
    grows: float = 0.3
    calls: tuple[Call, ...] = field(default=())


HOTELS = Call(
    "frontend",
    "GET /hotels",
    0.6,
    calls=(
        Call(
            "search",
            "search.Search/Nearby",
            0.8,
            grows=14,
            calls=(
                Call("geo", "geo.Geo/Nearby", 0.9, calls=(Call("documents-geo", "find points", 0.5),)),
                Call("rate", "rate.Rate/GetRates", 0.7, calls=(Call("memcached-rate", "MGET", 0.2),)),
            ),
        ),
        Call("profile", "profile.Profile/GetProfiles", 0.6, calls=(Call("memcached-profile", "MGET", 0.25),)),
    ),
)
RECOMMEND = Call(
    "frontend",
    "GET /recommendations",
    0.4,
    calls=(Call("recommendation", "recommendation.Recommendation/Get", 1.1, grows=1),),
)
_STORES = ("memcached-", "documents-")


def write(file: Path, from_ns: int, to_ns: int, requests: int, busy: float, seed: int = 1) -> None:
    """So many requests, evenly spread over a little more than the window."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number, start in enumerate(np.linspace(from_ns - 200_000_000, to_ns, requests).astype(np.int64).tolist()):
        trace = {"trace_id": (number + 1).to_bytes(16, "big")}
        spans: list[dict[str, Any]] = []
        _serve(spans, HOTELS if number % 5 < 3 else RECOMMEND, start, 0, busy, random)
        rows += [trace | span for span in sorted(spans, key=lambda span: span["start_ns"])]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, compression="zstd")


def _serve(spans: list[dict[str, Any]], call: Call, start: int, parent: int, busy: float, random: Any) -> int:
    """Add the server span and all below it; the time at which it ends."""
    mine = len(spans) + 1
    span = _span(call.service, call.operation, "", SERVER, mine, parent, start)
    spans.append(span)
    own = call.own_ms * (1 + call.grows * max(0.0, busy - 0.4)) * random.gamma(3, 1 / 3)
    now = start + int(0.7e6 * own)
    for callee in call.calls:
        now = _ask(spans, call.service, callee, now, mine, busy, random)
    now += int(0.3e6 * own)
    span["duration_ns"] = now - start
    return now


def _ask(
    spans: list[dict[str, Any]], caller: str, callee: Call, start: int, parent: int, busy: float, random: Any
) -> int:
    """A client span, and in it the server's, 0.1 ms away; stores have no spans of their own."""
    mine = len(spans) + 1
    span = _span(caller, callee.operation, callee.service, CLIENT, mine, parent, start)
    spans.append(span)
    if callee.service.startswith(_STORES):
        end = start + int(1e6 * callee.own_ms * random.gamma(3, 1 / 3))
    else:
        end = _serve(spans, callee, start + 100_000, mine, busy, random) + 100_000
    span["duration_ns"] = end - start
    return end


def _span(service: str, operation: str, peer: str, kind: int, span: int, parent: int, start: int) -> dict[str, Any]:
    place = {"service": service, "replica": f"{service}-1", "host": "worker-1", "operation": operation, "peer": peer}
    return {
        **place,
        "kind": kind,
        "span_id": span,
        "parent_id": parent,
        "start_ns": start,
        "duration_ns": -1,
        "status": 0,
    }
