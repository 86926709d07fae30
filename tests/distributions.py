"""Distributions that trials leave, made up: ``latency.hlog`` of any latencies, ``spans.parquet`` of any durations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hdrh.histogram import HdrHistogram

from tests.synthetic_spans import CLIENT, SCHEMA, SERVER

HEAD = '#[stone load: values in ns]\n#[Histogram log format version 1.3]\n"StartTimestamp","Interval_Length"\n'


def write_hlog(file: Path, latencies_us: Mapping[str, Any]) -> None:
    """The latencies by tag, each spread over two intervals."""
    lines = []
    for tag, values in latencies_us.items():
        for second, part in enumerate(np.array_split(np.asarray(values, float), 2)):
            histogram = HdrHistogram(1000, 7200 * 10**9, 3)
            for value in part:
                histogram.record_value(int(value * 1000))
            tagged = "" if tag == "intended" else f"Tag={tag},"
            lines.append(f"{tagged}{1000 + second}.0,1.0,1.0,{histogram.encode().decode()}")
    file.write_text(HEAD + "\n".join(lines) + "\n")


def write_spans(file: Path, durations_us: Mapping[tuple[str, str], Any], start_ns: int = 10**18) -> None:
    """Traces of a root span ``entry GET /`` that calls each of the spans once, through a client span."""
    rows: list[dict[str, Any]] = []
    columns = {name: [int(value * 1000) for value in values] for name, values in durations_us.items()}
    for number in range(max(map(len, columns.values()))):
        trace, begins = (number + 1).to_bytes(16, "big"), start_ns + number * 1_000_000
        rows.append(_span(trace, 1, 0, "entry", "GET /", SERVER, begins, 10**9))
        for place, ((service, operation), values) in enumerate(columns.items()):
            if number < len(values):
                duration, mine = values[number], 2 * place + 2
                rows.append(_span(trace, mine, 1, "entry", operation, CLIENT, begins + 10, duration + 20))
                rows.append(_span(trace, mine + 1, mine, service, operation, SERVER, begins + 20, duration))
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file)


def _span(
    trace: bytes, span: int, parent: int, service: str, operation: str, kind: int, start: int, duration: int
) -> Any:
    place = {"service": service, "replica": f"{service}-1", "host": "h", "operation": operation, "peer": ""}
    ids = {"trace_id": trace, "span_id": span, "parent_id": parent}
    return {**ids, **place, "kind": kind, "start_ns": start, "duration_ns": duration, "status": 0}
