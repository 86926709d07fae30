"""Folded stacks and Jaeger's JSON, by what those tools ask of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.analysis.traces import analyse, folded, jaeger, read, slowest
from loadstone.analysis.traces.spans import CLIENT, ERROR, SERVER
from loadstone.model.errors import InputError
from tests.made_traces import MS, START_NS, Application, span, write

FIRST, SECOND = f"{1:032x}", f"{2:032x}"
ROWS = [
    span(0xA, 0, START_NS, START_NS + 90 * MS, "frontend", kind=SERVER, operation="GET /hotels"),
    span(
        0xB,
        0xA,
        START_NS + 1500,
        START_NS + 80 * MS,
        "frontend",
        kind=CLIENT,
        operation="MGET",
        peer="cache",
        status=ERROR,
    ),
    span(0xC, 0xA, START_NS + 81 * MS, None, "frontend", host="other"),
    span(0xD, 0, START_NS, START_NS + 95 * MS, "frontend", trace_id=(2).to_bytes(16, "big")),
]


def test_jaeger_takes_what_its_upload_requires(tmp_path: Path) -> None:
    spans = read(write(tmp_path / "spans.parquet", ROWS))
    (trace,) = json.loads("".join(jaeger(spans, [FIRST])))["data"]
    assert trace["traceID"] == FIRST
    served, called, third = trace["spans"]
    assert (served["spanID"], served["operationName"], served["references"]) == (f"{0xA:016x}", "GET /hotels", [])
    assert (served["startTime"], served["duration"]) == (START_NS // 1000, 90_000)
    assert called["references"] == [{"refType": "CHILD_OF", "traceID": FIRST, "spanID": f"{0xA:016x}"}]
    assert (called["startTime"], called["duration"]) == (START_NS // 1000 + 1, 79_999)
    assert called["tags"] == [
        {"key": "span.kind", "type": "string", "value": "client"},
        {"key": "peer.service", "type": "string", "value": "cache"},
        {"key": "error", "type": "bool", "value": True},
    ]
    assert (third["duration"], third["warnings"]) == (0, ["never ended"])
    assert {span["processID"] for span in trace["spans"]} == set(trace["processes"]) == {"p1", "p2"}
    assert trace["processes"][called["processID"]] == {
        "serviceName": "frontend",
        "tags": [
            {"key": "service.instance.id", "type": "string", "value": "frontend-1"},
            {"key": "host.name", "type": "string", "value": "h"},
        ],
    }


def test_traces_are_chosen_by_id_or_by_length(tmp_path: Path) -> None:
    spans = read(write(tmp_path / "spans.parquet", ROWS))
    assert slowest(spans, 5) == [SECOND, FIRST] and slowest(spans, 1) == [SECOND]
    assert [trace["traceID"] for trace in json.loads("".join(jaeger(spans, [SECOND, FIRST])))["data"]] == [
        SECOND,
        FIRST,
    ]
    assert json.loads("".join(jaeger(spans, []))) == {"data": []}
    with pytest.raises(InputError, match=r"trace '12ab' is not among the 2 traces"):
        jaeger(spans, [FIRST, "12ab"])


def test_folded_stacks_add_up_to_the_latency(tmp_path: Path) -> None:
    traces = analyse(read(write(tmp_path / "spans.parquet", Application().rows(30))))
    lines = folded(traces).splitlines()
    stacks = {stack: int(value) for stack, _, value in (line.rpartition(" ") for line in lines)}
    assert len(stacks) == traces.paths.num_rows == len(lines)
    assert sum(stacks.values()) == pytest.approx(traces.durations_ns.sum() / 1000, abs=len(lines))
    assert "frontend GET /hotels;search Nearby;geo Nearby;documents-geo find points" in stacks


def test_names_cannot_break_a_stack(tmp_path: Path) -> None:
    traces = analyse(read(write(tmp_path / "spans.parquet", [span(1, 0, 0, 5000, operation="a;b\nc")])))
    assert folded(traces) == "a a,b c 5\n"
