"""Traces as JSON: what Jaeger and the Collector write is read, and what cannot be read is named with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis.traces import SpanColumns, analyse, jaeger, read
from loadstone.analysis.traces.reading import SCHEMA
from loadstone.analysis.traces.spans import CLIENT, ERROR, SERVER
from loadstone.model.errors import InputError
from tests.made_traces import MS, START_NS, Application, span, write

FROM_API = {
    "data": [
        {
            "traceID": "5af7183fb1d4cf5f",
            "spans": [
                {
                    "traceID": "5af7183fb1d4cf5f",
                    "spanID": "6b221d5bc9e6496c",
                    "operationName": "HTTP GET /hotels",
                    "references": [],
                    "startTime": START_NS // 1000,
                    "duration": 90_000,
                    "tags": [
                        {"key": "span.kind", "type": "string", "value": "server"},
                        {"key": "http.status_code", "type": "int64", "value": 500},
                        {"key": "error", "type": "bool", "value": True},
                    ],
                    "logs": [{"timestamp": 1, "fields": []}],
                    "processID": "p1",
                    "warnings": None,
                },
                {
                    "traceID": "5af7183fb1d4cf5f",
                    "spanID": "b",
                    "operationName": "MGET",
                    "references": [
                        {"refType": "FOLLOWS_FROM", "traceID": "5af7183fb1d4cf5f", "spanID": "c"},
                        {"refType": "CHILD_OF", "traceID": "5af7183fb1d4cf5f", "spanID": "6b221d5bc9e6496c"},
                    ],
                    "startTime": START_NS // 1000 + 10,
                    "duration": 80_000,
                    "tags": [
                        {"key": "span.kind", "type": "string", "value": "client"},
                        {"key": "db.system", "type": "string", "value": "memcached"},
                    ],
                    "logs": [],
                    "processID": "p2",
                },
            ],
            "processes": {
                "p1": {"serviceName": "frontend", "tags": [{"key": "hostname", "type": "string", "value": "worker-1"}]},
                "p2": {"serviceName": "rate", "tags": []},
            },
        }
    ],
    "total": 0,
    "limit": 0,
    "offset": 0,
    "errors": None,
}


def otlp(trace: int, *spans: dict[str, Any]) -> dict[str, Any]:
    """One request of a service whose spans are these."""
    attributes = [{"key": key, "value": {"stringValue": f"{key[0]}-1"}} for key in ("host.name", "service.instance.id")]
    attributes += [{"key": "service.name", "value": {"stringValue": "shop"}}]
    made = [{"traceId": f"{trace:032X}", "kind": 2, **item} for item in spans]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


ROOT = {
    "spanId": "EEE19B7EC3C1B174",
    "name": "buy",
    "startTimeUnixNano": str(START_NS),
    "endTimeUnixNano": START_NS + 9,
}
CALL = {
    "spanId": "eee19b7ec3c1b175",
    "parentSpanId": "eee19b7ec3c1b174",
    "name": "find",
    "kind": "SPAN_KIND_CLIENT",
    "startTimeUnixNano": str(START_NS + 2),
    "status": {"code": "STATUS_CODE_ERROR"},
    "attributes": [{"key": "peer.service", "value": {"stringValue": "db"}}, {"key": "n", "value": {"intValue": "7"}}],
}


def rows(spans: SpanColumns) -> list[dict[str, Any]]:
    """All that was read, as the rows that tests are made of."""
    texts = ("service", "replica", "host", "operation", "peer")
    trace = [bytes(spans.trace_id[t]) for t in range(spans.traces) for _ in range(spans.first[t], spans.first[t + 1])]
    return [
        {"trace_id": trace[row]}
        | {
            name: column.at(row) if name in texts else int(column[row])
            for name in SCHEMA.names[1:]
            for column in [getattr(spans, name)]
        }
        for row in range(len(spans))
    ]


def test_what_jaegers_api_gives_is_read(tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(json.dumps(FROM_API, indent=2))
    traces = analyse(read(tmp_path / "traces.json"))
    served, called = rows(traces.spans)
    assert served == span(0x6B221D5BC9E6496C, 0, 0, 0, "frontend") | {
        "trace_id": (0x5AF7183FB1D4CF5F).to_bytes(16, "big"),
        "operation": "HTTP GET /hotels",
        "replica": "worker-1",
        "host": "worker-1",
        "kind": SERVER,
        "start_ns": START_NS,
        "duration_ns": 90 * MS,
        "status": ERROR,
    }
    assert (called["span_id"], called["parent_id"], called["peer"]) == (0xB, 0x6B221D5BC9E6496C, "memcached")
    assert traces.critical.on_path.tolist() == [10 * MS, 80 * MS]


def test_errors_of_jaegers_api_are_kept(tmp_path: Path) -> None:
    errors = [{"code": 404, "msg": "trace not found", "traceID": "1f"}, {"msg": "storage is slow"}, "odd"]
    file = tmp_path / "traces.json"
    file.write_text(json.dumps([FROM_API | {"errors": errors}, FROM_API]))
    found = read(file)
    assert found.errors == ("trace not found (trace 1f)", "storage is slow", '"odd"')
    assert found.health.traces == 1
    file.write_text(json.dumps({"data": None, "errors": 7}))
    assert read(file).errors == ("7",)


@pytest.mark.parametrize("how", ["one document", "lines", "indented", "gzip", "a list", "Jaeger's API 3", "up to 2022"])
def test_what_the_collector_writes_is_read(how: str, tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    requests = [otlp(1, ROOT, CALL), otlp(2, ROOT)]
    both = {"resourceSpans": [item for request in requests for item in request["resourceSpans"]]}
    lines = "".join(f"{json.dumps(item)}\n" for item in [*requests, {"resourceMetrics": []}])
    match how:
        case "one document":
            file.write_text(json.dumps(both))
        case "lines":
            file.write_text(lines)
        case "indented":
            file.write_text(json.dumps(both, indent=1))
        case "gzip":
            file.write_bytes(gzip.compress(lines.encode()))
        case "a list":
            file.write_text(f" {json.dumps(requests)}")
        case "up to 2022":  # OTLP up to 0.18
            file.write_text(json.dumps(both).replace('"scopeSpans"', '"instrumentationLibrarySpans"'))
        case _:
            file.write_text(json.dumps({"result": both}))
    spans = read(file)
    assert spans.traces == 2
    root, call, other = rows(spans)
    expected = span(0xEEE19B7EC3C1B174, 0, 0, 9, "shop", kind=SERVER, operation="buy", replica="s-1", host="h-1")
    assert root == expected | {"start_ns": START_NS}
    assert other == root | {"trace_id": (2).to_bytes(16, "big")}
    assert (call["kind"], call["status"], call["peer"], call["duration_ns"]) == (CLIENT, ERROR, "db", -1)
    assert spans.parent.tolist() == [-1, 0, -1]


def test_what_we_write_for_jaeger_is_read_as_it_was(tmp_path: Path) -> None:
    made = Application().rows(30)
    for row in made:  # Jaeger has whole microseconds
        row["start_ns"], row["duration_ns"] = row["start_ns"] // 1000 * 1000, row["duration_ns"] // 1000 * 1000
    made += [span(1, 0, 0, 0) | {"start_ns": START_NS}, span(2, 1, 0, None, status=ERROR) | {"start_ns": START_NS}]
    spans = read(write(tmp_path / "spans.parquet", made))
    file = tmp_path / "jaeger.json"
    file.write_text("".join(jaeger(spans, [spans.hex_id(trace) for trace in range(spans.traces)])))
    again = read(file)
    assert rows(again) == rows(spans)
    assert analyse(again).services == analyse(spans).services


@pytest.mark.parametrize(
    "bad",
    [
        {"traceId": "12"},
        {"traceId": "0" * 32},
        {"traceId": "g" * 32},
        {"spanId": ""},
        {"spanId": None},
        {"startTimeUnixNano": "0"},
        {"startTimeUnixNano": str(2**62 + 1)},
        {"endTimeUnixNano": START_NS + 2**61},
        {"endTimeUnixNano": 1},
        {"startTimeUnixNano": -1},
    ],
    ids=str,
)
def test_bad_spans_are_left_out_and_counted(bad: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_text(json.dumps(otlp(1, ROOT, {**CALL, **bad})))
    health = read(tmp_path / "traces.json").health
    assert (health.unusable, health.spans) == (1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data": [', "line 1, column 11: is no JSON"),
        ('{\n "data": [\n  7,]}', "line 3, column"),
        ('{"resourceSpans": []}\n{"resourceSpans": [', "line 2, column 20: is no JSON"),
        ('\n{"resourceSpans": []}\n{"resourceSpans": [', "line 3, column 20: is no JSON"),
        ('{"resourceSpans": []}\n\n{"traces": []}', "line 3 has neither `data`, as Jaeger's JSON, nor `resourceSpans`"),
        ('{"data": [{"spans": [{}, 7]}]}', "line 1: data[0].spans[1] is 7, where an object has to be"),
        ('{"data": [{"spans": {"a": 1}}]}', 'data[0].spans is {"a": 1}, where a list has to be'),
        (
            '{"data": [{"spans": [{"startTime": "now"}]}]}',
            'data[0].spans[0].startTime is "now", where a number has to be',
        ),
        ('{"data": [{"processes": {"p1": 1}}]}', "data[0].processes.p1 is 1, where an object has to be"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"status": 7}]}]}]}', "scopeSpans[0].spans[0].status is 7"),
        ('{"resourceSpans": [{"resource": []}, {"resource": 5}]}', "resourceSpans[1].resource is 5"),
        ("[1]", "[0] is 1, where an object has to be"),
        ("[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "traces.json"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read(file)
    assert str(file) in str(refused.value) and expected in str(refused.value)


DAMAGED = [b'{"data": "\xff"}', gzip.compress(b'{"data": []}', mtime=0)[:-9], b"\x1f\x8bnot packed"]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "traces.json").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as JSON"):
        read(tmp_path / "traces.json")


KEYS = ["data", "spans", "processes", "p1", "tags", "references", "warnings", "resourceSpans", "resource", "scopeSpans"]
KEYS += [
    "instrumentationLibrarySpans",
    "errors",
    "msg",
    "attributes",
    "key",
    "value",
    "traceID",
    "spanID",
    "traceId",
    "spanId",
    "startTime",
    "duration",
    "processID",
]
LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.sampled_from(["", "a", "p1", "1f", "\ud800"])
)
TREES = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS), below, max_size=5)
)


@settings(deadline=None)
@given(tree=TREES, outer=st.sampled_from(["data", "resourceSpans", "spans"]))
def test_any_json_is_read_or_refused_with_words(
    tmp_path_factory: pytest.TempPathFactory, tree: Any, outer: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps({outer: tree}))
    try:
        spans = read(file)
    except InputError as refused:
        assert str(file) in str(refused)
    else:
        assert len(spans) == spans.health.spans
