"""Reads traces as JSON: Jaeger's (its API, "JSON File", our ``--jaeger``) and OTLP's (the Collector's file exporter).

A file is one document or one a line, also packed with gzip. Jaeger's has times in microseconds. Formats:
https://www.jaegertracing.io/docs/latest/architecture/apis/ and https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

import gzip
import json
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.analysis.traces.spans import CLIENT, ERROR, PRODUCER, Codes
from loadstone.model.errors import InputError

KINDS = ("", "internal", "server", "client", "producer", "consumer")
"""As Jaeger's tag ``span.kind`` has them, by number."""
NEVER_ENDED = "never ended"
"""The warning that our export to Jaeger gives a span without an end."""
_CODES = {"UNSET": 0, "OK": 1, "ERROR": ERROR}
_PEERS = ("db.system.name", "db.system", "messaging.system", "server.address")
"""Where a call does not name its peer, as ``stone spans`` takes it."""
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")
"""Where OTLP has the spans of a resource: the second one up to release 0.18, of 2022."""
_OTHER_SIGNALS = ("resourceMetrics", "resourceLogs", "resourceProfiles")
_GZIP = b"\x1f\x8b"
_FARTHEST = 2**62
_IMPOSSIBLE = -2
Object = dict[str, Any]


def is_document(file: Path) -> bool:
    """Whether the file is JSON, or packed: nothing else that is read here is."""
    with file.open("rb") as source:
        head = source.read(512)
    return head.startswith(_GZIP) or head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def columns(file: Path) -> dict[str, Any]:
    """The columns of the spans: those of ``reading.SCHEMA``, and the trace's id as ``high`` and ``low``; ``errors``.

    A span without valid ids has a trace's id of zeros, a time that is no time a negative one: both are left out later.
    Raises InputError with the file and the place in it for what is no such document.
    """
    into = _Columns()
    try:
        for place, document in _documents(file):
            _document(document, f"{file}: {place}", into)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file}: line {error.lineno}, column {error.colno}: is no JSON: {error.msg}; was it cut off?"
        ) from None
    except (EOFError, OSError, zlib.error, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file}: cannot be read as JSON: {error or type(error).__name__}") from None
    return into.done()


def _documents(file: Path) -> Iterator[tuple[str, Any]]:
    """Every document, and where it is. The first line that is not blank shows whether each line has one."""
    with file.open("rb") as source:
        packed = source.read(2) == _GZIP
    with gzip.open(file, "rt", encoding="utf-8-sig") if packed else file.open(encoding="utf-8-sig") as text:
        begins, first = next(((number, line) for number, line in enumerate(text, 1) if line.strip()), (1, ""))
        try:
            yield f"line {begins}: ", json.loads(first)
        except json.JSONDecodeError:
            yield "", json.loads("\n" * (begins - 1) + first + text.read())
            return
        for number, line in enumerate(text, begins + 1):
            if line.strip():
                try:
                    document = json.loads(line)
                except json.JSONDecodeError as error:
                    error.lineno = number
                    raise
                yield f"line {number}: ", document


class _Columns:
    """Spans as they come, a value to each column."""

    _NUMBERS = {"high": "Q", "low": "Q", "span_id": "Q", "parent_id": "Q", "start_ns": "q", "duration_ns": "q"}
    _SMALL = ("kind", "status")
    _TEXTS = ("service", "replica", "host", "operation", "peer")

    def __init__(self) -> None:
        self.numbers = {name: array(type) for name, type in self._NUMBERS.items()}
        self.numbers |= {name: array("B") for name in self._SMALL}
        self.codes = {name: array("i") for name in self._TEXTS}
        self.known: dict[str, dict[str, int]] = {name: {} for name in self._TEXTS}
        self.errors: list[str] = []

    def add(self, trace: int, id: int, start: int, duration: int, texts: dict[str, Any], **numbers: int) -> None:
        trace = trace if id else 0
        there = {"high": trace >> 64, "low": trace & (2**64 - 1), "span_id": id, **numbers}
        there["start_ns"] = start if 0 <= start < _FARTHEST else _IMPOSSIBLE
        there["duration_ns"] = duration if -1 <= duration < _FARTHEST else _IMPOSSIBLE
        for name, column in self.numbers.items():
            column.append(there[name])
        for name, codes in self.codes.items():
            text = texts.get(name)
            known = self.known[name]
            codes.append(known.setdefault(text if isinstance(text, str) else "", len(known)))

    def done(self) -> dict[str, Any]:
        raw: dict[str, Any] = {name: np.array(column) for name, column in self.numbers.items()}
        for name, codes in self.codes.items():  # a text may have half a character, which cannot be printed
            names = (text.encode("utf-8", "replace").decode() for text in self.known[name])
            raw[name] = Codes(np.array(codes, np.int32), tuple(names))
        return raw | {"errors": tuple(self.errors)}


def _document(document: Any, where: str, into: _Columns) -> None:
    if isinstance(document, list):
        for number, element in enumerate(document):
            _document(element, f"{where}[{number}]", into)
        return
    document = _object(document, where)
    if "resourceSpans" in document:
        _otlp(document, where, into)
    elif "data" in document:
        errors = document.get("errors") or []
        into.errors += map(_error, errors if isinstance(errors, list) else [errors])
        for place, trace in _listed(document, "data", where):
            _jaeger(trace, place, into)
    elif "spans" in document:
        _jaeger(document, where, into)
    elif "result" in document:  # version 3 of Jaeger's API has OTLP in it
        _document(document["result"], _at(where, "result"), into)
    elif not any(name in document for name in _OTHER_SIGNALS):
        raise InputError(f"{where.rstrip(': ')} has neither `data`, as Jaeger's JSON, nor `resourceSpans`, as OTLP's")


def _jaeger(trace: Object, where: str, into: _Columns) -> None:
    at = _at(where, "processes")
    processes = _object(trace.get("processes") or {}, at)
    resources = {name: _process(_object(process, f"{at}.{name}")) for name, process in processes.items()}
    for place, span in _listed(trace, "spans", where):
        tags = _values(span.get("tags"))
        kind = KINDS.index(tags["span.kind"]) if tags.get("span.kind") in KINDS else 0
        failed = str(tags.get("error")).lower() == "true"
        name = span.get("traceID") or trace.get("traceID")
        warnings = span.get("warnings")
        ended = not isinstance(warnings, list) or NEVER_ENDED not in warnings
        into.add(
            _id(name, 32),
            _id(span.get("spanID"), 16),
            1000 * _number(span, "startTime", place),
            1000 * _number(span, "duration", place) if ended else -1,
            {
                **resources.get(str(span.get("processID")), {}),
                "operation": span.get("operationName"),
                "peer": _peer(tags, kind),
            },
            parent_id=_parent(span, name, place),
            kind=kind,
            status=ERROR if failed else _CODES.get(str(tags.get("otel.status_code")), 0),
        )


def _error(given: Any) -> str:
    """One of Jaeger's structured errors, as text."""
    if not isinstance(given, dict) or not given.get("msg"):
        return _what(given)
    trace = f" (trace {given['traceID']})" if given.get("traceID") else ""
    return f"{given['msg']}{trace}".encode("utf-8", "replace").decode()


def _process(process: Object) -> Object:
    tags = _values(process.get("tags"))
    host = tags.get("host.name") or tags.get("hostname")
    return {"service": process.get("serviceName"), "replica": tags.get("service.instance.id") or host, "host": host}


def _parent(span: Object, trace: Any, where: str) -> int:
    """The first span of the trace that this one is a child of, else the first that it follows."""
    here = [item for _, item in _listed(span, "references", where) if item.get("traceID") in (trace, None)]
    here.sort(key=lambda item: item.get("refType") != "CHILD_OF")
    return _id(here[0].get("spanID") if here else span.get("parentSpanID"), 16)


def _otlp(request: Object, where: str, into: _Columns) -> None:
    for place, of_resource in _listed(request, "resourceSpans", where):
        resource = _object(of_resource.get("resource") or {}, f"{place}.resource")
        known = _values(resource.get("attributes"))
        host = known.get("host.name")
        texts = {
            "service": known.get("service.name"),
            "replica": known.get("service.instance.id") or host,
            "host": host,
        }
        for name in _SCOPES:
            for scope, of_scope in _listed(of_resource, name, place):
                for at, span in _listed(of_scope, "spans", scope):
                    _otlp_span(span, at, texts, into)


def _otlp_span(span: Object, where: str, texts: Object, into: _Columns) -> None:
    start, end = _number(span, "startTimeUnixNano", where), _number(span, "endTimeUnixNano", where)
    kind = _enumerated(span.get("kind"), {f"SPAN_KIND_{name.upper()}": number for number, name in enumerate(KINDS)}, 5)
    status = _object(span.get("status") or {}, f"{where}.status").get("code")
    into.add(
        _id(span.get("traceId"), 32, least=32),
        _id(span.get("spanId"), 16, least=16),
        start,
        _duration(start, end),
        {**texts, "operation": span.get("name"), "peer": _peer(_values(span.get("attributes")), kind)},
        parent_id=_id(span.get("parentSpanId"), 16, least=16),
        kind=kind,
        status=_enumerated(status, {f"STATUS_CODE_{name}": code for name, code in _CODES.items()}, ERROR),
    )


def _peer(tags: Object, kind: int) -> Any:
    names = ("peer.service", *_PEERS) if kind in (CLIENT, PRODUCER) else ("peer.service",)
    return next((tags[name] for name in names if isinstance(tags.get(name), str) and tags[name]), "")


def _enumerated(value: Any, names: dict[str, int], most: int) -> int:
    number = names.get(value, 0) if isinstance(value, str) else value
    return number if isinstance(number, int) and 0 <= number <= most else 0


def _id(text: Any, most: int, least: int = 1) -> int:
    """The number of an id with so many digits; 0, which none has, for what is none. Jaeger leaves leading zeros out."""
    try:
        return int(text, 16) if isinstance(text, str) and least <= len(text) <= most and text.isalnum() else 0
    except ValueError:
        return 0


def _values(tags: Any) -> Object:
    """Tags of Jaeger or attributes of OTLP, of these the texts, by key."""
    found: Object = {}
    for item in tags if isinstance(tags, list) else ():
        if isinstance(item, dict):
            value = item.get("value")
            found[str(item.get("key"))] = value.get("stringValue") if isinstance(value, dict) else value
    return found


def _listed(parent: Object, name: str, where: str) -> Iterator[tuple[str, Object]]:
    """The objects of a list, each with its place."""
    at = _at(where, name)
    listed = parent.get(name) or []
    if not isinstance(listed, list):
        raise InputError(f"{at} is {_what(listed)}, where a list has to be")
    for place, item in enumerate(listed):
        yield f"{at}[{place}]", _object(item, f"{at}[{place}]")


def _at(where: str, name: str) -> str:
    return f"{where}{name}" if where.endswith(": ") else f"{where}.{name}"


def _object(value: Any, where: str) -> Object:
    if not isinstance(value, dict):
        raise InputError(f"{where.rstrip(': ')} is {_what(value)}, where an object has to be")
    return value


def _duration(start: int, end: int) -> int:
    """In ns; -1 without an end, and less, which cannot be, with one before the start."""
    if end == 0:
        return -1
    return end - start if end >= start else -2


def _number(parent: Object, name: str, where: str) -> int:
    """A whole number, which OTLP writes as text; 0 where there is none."""
    value = parent.get(name) or 0
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{where}.{name} is {_what(value)}, where a number has to be") from None


def _what(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
