"""Traces for other tools: folded stacks for flame graphs, and the JSON that Jaeger's user interface opens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from loadstone.analysis.traces.analysing import TraceAnalysis
from loadstone.analysis.traces.documents import KINDS, NEVER_ENDED
from loadstone.analysis.traces.spans import ERROR, SpanColumns
from loadstone.model.errors import InputError

_AT_ONCE = 10_000
"""Spans of a trace that are made to text at a time: a single trace may have millions."""


def folded(traces: TraceAnalysis) -> str:
    """Critical time by call path as ``flamegraph.pl`` takes it: steps joined by ``;``, a blank, whole microseconds."""
    lines = [
        f"{';'.join(_frame(step) for step in chain)} {round(spent / 1000)}"
        for chain, spent in zip(traces.tree.chains(), traces.tree.critical_ns.tolist(), strict=True)
    ]
    return "".join(f"{line}\n" for line in sorted(lines))


def _frame(step: str) -> str:
    """The step without what separates steps and lines."""
    return " ".join(step.replace(";", ",").split())


def slowest(spans: SpanColumns, count: int) -> list[str]:
    """Ids of the traces whose root took longest, the slowest first; those whose root never ended come last."""
    order = np.argsort(-spans.duration_ns[spans.root], kind="stable")[:count]
    return [spans.hex_id(int(trace)) for trace in order]


def jaeger(spans: SpanColumns, trace_ids: Sequence[str]) -> Iterator[str]:
    """These traces as Jaeger's "JSON File" upload takes them: pieces of text, to be written one after the other.

    Times as they were recorded, in whole us: start and end are rounded down both, so that what lay within a span still
    does. A span that never ended has the duration 0 and a warning. Raises InputError for an id that is not there.
    """
    wanted = {given.lower() for given in trace_ids}
    every = spans.trace_id.tobytes().hex()
    places = {id: trace for trace in range(spans.traces) if (id := every[32 * trace : 32 * trace + 32]) in wanted}
    if absent := [given for given in trace_ids if given.lower() not in places]:
        raise InputError(
            f"trace {absent[0]!r} is not among the {spans.traces:,} traces; ids have 32 hexadecimal digits"
        )
    return _document(spans, [places[given.lower()] for given in trace_ids])


def _document(spans: SpanColumns, traces: Sequence[int]) -> Iterator[str]:
    names = _Names(spans)
    yield '{"data": ['
    for count, trace in enumerate(traces):
        yield ",\n" if count else "\n"
        yield from _trace(spans, trace, names)
    yield "\n]}\n"


class _Names:
    """The texts of the spans as JSON, each made once."""

    def __init__(self, spans: SpanColumns) -> None:
        self.operations = [json.dumps(name) for name in spans.operation.names]
        self.peers = [json.dumps(_tag("peer.service", name)) if name else "" for name in spans.peer.names]
        self.kinds = [json.dumps(_tag("span.kind", name)) if name else "" for name in KINDS]
        self.error = json.dumps({"key": "error", "type": "bool", "value": True})
        self.warnings = json.dumps([NEVER_ENDED])


def _trace(spans: SpanColumns, trace: int, names: _Names) -> Iterator[str]:
    id = spans.hex_id(trace)
    processes: dict[tuple[int, ...], str] = {}
    yield f'{{"traceID": "{id}", "spans": ['
    first, to = int(spans.first[trace]), int(spans.first[trace + 1])
    for low in range(first, to, _AT_ONCE):
        rows = slice(low, min(low + _AT_ONCE, to))
        columns = (column.codes[rows] for column in (spans.service, spans.replica, spans.host))
        where = zip(*(column.tolist() for column in columns), strict=True)
        numbers = (spans.span_id, spans.parent_id, spans.start_ns, spans.duration_ns, spans.kind, spans.status)
        texts = (spans.operation.codes, spans.peer.codes)
        values = zip(*(column[rows].tolist() for column in (*numbers, *texts)), strict=True)
        for row, (of, value) in enumerate(zip(where, values, strict=True), low):
            process = processes.setdefault(of, f"p{len(processes) + 1}")
            yield ("\n" if row == first else ",\n") + _span(id, process, names, *value)
    listed = {process: _process(spans, *of) for of, process in processes.items()}
    yield f'\n], "processes": {json.dumps(listed)}, "warnings": null}}'


def _span(
    trace: str, process: str, names: _Names,
    id: int, parent: int, start: int, duration: int, kind: int, status: int, operation: int, peer: int,
) -> str:  # fmt: skip
    tags = (names.kinds[kind] if kind < len(KINDS) else "", names.peers[peer], names.error if status == ERROR else "")
    reference = f'{{"refType": "CHILD_OF", "traceID": "{trace}", "spanID": "{parent:016x}"}}' if parent else ""
    duration_us = (start + duration) // 1000 - start // 1000 if duration > 0 else 0
    return (
        f'{{"traceID": "{trace}", "spanID": "{id:016x}", "operationName": {names.operations[operation]}, '
        f'"references": [{reference}], "startTime": {start // 1000}, "duration": {duration_us}, '
        f'"tags": [{", ".join(filter(None, tags))}], "logs": [], "processID": "{process}", '
        f'"warnings": {names.warnings if duration < 0 else "null"}}}'
    )


def _process(spans: SpanColumns, service: int, replica: int, host: int) -> dict[str, Any]:
    tags = [_tag("service.instance.id", spans.replica.names[replica]), _tag("host.name", spans.host.names[host])]
    return {"serviceName": spans.service.names[service], "tags": tags}


def _tag(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "type": "string", "value": value}
