"""Traces for other tools: folded stacks for flame graphs, and the JSON that Jaeger's user interface opens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from loadstone.analysis.traces.analysing import Traces
from loadstone.analysis.traces.spans import ERROR, Spans
from loadstone.model.errors import InputError

_KINDS = ("", "internal", "server", "client", "producer", "consumer")


def folded(traces: Traces) -> str:
    """Critical time by call path as ``flamegraph.pl`` takes it: steps joined by ``;``, a blank, whole microseconds."""
    lines = [
        f"{';'.join(_frame(step) for step in chain)} {round(spent / 1000)}"
        for chain, spent in zip(traces.tree.chains(), traces.tree.critical_ns.tolist(), strict=True)
    ]
    return "".join(f"{line}\n" for line in sorted(lines))


def _frame(step: str) -> str:
    """The step without what separates steps and lines."""
    return " ".join(step.replace(";", ",").split())


def slowest(spans: Spans, count: int) -> list[str]:
    """Ids of the traces whose root took longest, the slowest first; those whose root never ended come last."""
    order = np.argsort(-spans.duration_ns[spans.root], kind="stable")[:count]
    return [spans.hex_id(int(trace)) for trace in order]


def jaeger(spans: Spans, trace_ids: Sequence[str]) -> str:
    """These traces as Jaeger's "JSON File" upload takes them, with times as they were recorded, in us.

    Raises InputError for an id that is not there. A span that never ended has the duration 0 and a warning.
    """
    places = {spans.hex_id(trace): trace for trace in range(spans.traces)} if trace_ids else {}
    if absent := [given for given in trace_ids if given.lower() not in places]:
        raise InputError(
            f"trace {absent[0]!r} is not among the {spans.traces:,} traces; ids have 32 hexadecimal digits"
        )
    return json.dumps({"data": [_trace(spans, places[given.lower()]) for given in trace_ids]}, indent=1)


def _trace(spans: Spans, trace: int) -> dict[str, Any]:
    rows = range(int(spans.first[trace]), int(spans.first[trace + 1]))
    processes: dict[tuple[str, str, str], str] = {}
    listed = []
    for row in rows:
        where = spans.service.at(row), spans.replica.at(row), spans.host.at(row)
        process = processes.setdefault(where, f"p{len(processes) + 1}")
        listed.append(_span(spans, row, spans.hex_id(trace), process))
    return {
        "traceID": spans.hex_id(trace),
        "spans": listed,
        "processes": {
            process: {"serviceName": service, "tags": [_tag("service.instance.id", replica), _tag("host.name", host)]}
            for (service, replica, host), process in processes.items()
        },
        "warnings": None,
    }


def _span(spans: Spans, row: int, trace_id: str, process: str) -> dict[str, Any]:
    duration, parent = int(spans.duration_ns[row]), int(spans.parent_id[row])
    kind = int(spans.kind[row])
    tags = [_tag("span.kind", _KINDS[kind])] if 0 < kind < len(_KINDS) else []
    tags += [_tag("peer.service", spans.peer.at(row))] if spans.peer.at(row) else []
    tags += [{"key": "error", "type": "bool", "value": True}] if spans.status[row] == ERROR else []
    return {
        "traceID": trace_id,
        "spanID": f"{int(spans.span_id[row]):016x}",
        "operationName": spans.operation.at(row),
        "references": [{"refType": "CHILD_OF", "traceID": trace_id, "spanID": f"{parent:016x}"}] if parent else [],
        "startTime": int(spans.start_ns[row]) // 1000,
        "duration": max(duration, 0) // 1000,
        "tags": tags,
        "logs": [],
        "processID": process,
        "warnings": ["never ended"] if duration < 0 else None,
    }


def _tag(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "type": "string", "value": value}
