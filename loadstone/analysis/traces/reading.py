"""Reads spans into columns; ``spans.parquet`` a row group at a time: little more than the columns is in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from loadstone.analysis.traces import documents, linking
from loadstone.analysis.traces.spans import Codes, Health, Ints, SpanColumns
from loadstone.model.errors import InputError

SCHEMA = pa.schema(
    [
        ("trace_id", pa.binary(16)),
        ("span_id", pa.uint64()),
        ("parent_id", pa.uint64()),
        ("service", pa.string()),
        ("replica", pa.string()),
        ("host", pa.string()),
        ("operation", pa.string()),
        ("peer", pa.string()),
        ("kind", pa.uint8()),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("status", pa.uint8()),
    ]
)
"""The columns of ``spans.parquet``, as ``stone spans`` writes it; sorted by ``trace_id`` and ``start_ns``."""
_TEXTS = tuple(field.name for field in SCHEMA if field.type == pa.string())
_NUMBERS = {field.name: field.type.to_pandas_dtype() for field in SCHEMA if field.name not in ("trace_id", *_TEXTS)}
_MOST = 2**31 - 1
_LATEST, _LONGEST = 2**62, 2**60
"""The latest time and the longest duration (the year 2116; 36 years), so that sums fit 64 bits. ``stone spans`` holds
to them too."""


def read(file: Path, from_ns: int | None = None, to_ns: int | None = None) -> SpanColumns:
    """The spans of the traces whose root starts at ``from_ns`` or later and before ``to_ns`` (unix time); None: all.

    The file is Parquet, or JSON of Jaeger or OTLP (see ``documents``). The order of its rows does not matter. Spans
    without a trace's id, or with times that cannot be, are left out and counted. Raises InputError where it is no file
    of spans, is damaged, or has more than 2^31 - 1 of them.
    """
    try:
        raw = documents.columns(file) if documents.is_document(file) else _parquet(file)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file; trials of a study with `traces` have one") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file}: cannot be read as spans: {reason}; record them again with `stone spans`") from None
    errors = raw.pop("errors", ())
    unusable = _leave_out(raw)
    _sort(raw)
    return replace(_linked(raw, unusable, from_ns, to_ns), errors=errors)


def _parquet(file: Path) -> dict[str, Any]:
    if absent := [name for name in SCHEMA.names if name not in pq.read_schema(file).names]:
        raise InputError(f"{file}: is no file of spans: it lacks the columns {', '.join(absent)}")
    return _columns(pq.ParquetFile(file, read_dictionary=list(_TEXTS)), file)


def _columns(source: pq.ParquetFile, file: Path) -> dict[str, Any]:
    """All columns as arrays; the trace's id as two numbers, its halves."""
    size = source.metadata.num_rows
    if size > _MOST:
        raise InputError(f"{file}: {size:,} spans are more than can be analysed at once ({_MOST:,}); record a sample")
    raw: dict[str, Any] = {name: np.empty(size, dtype) for name, dtype in _NUMBERS.items()}
    raw |= {name: np.empty(size, np.uint64) for name in ("high", "low")}
    codes = {name: np.empty(size, np.int32) for name in _TEXTS}
    known: dict[str, dict[str, int]] = {name: {} for name in _TEXTS}
    at = 0
    for group in range(source.num_row_groups):
        table = source.read_row_group(group, columns=SCHEMA.names).combine_chunks()
        to = at + table.num_rows
        raw["high"][at:to], raw["low"][at:to] = _halves(table["trace_id"], file)
        for name, column in _NUMBERS.items():
            raw[name][at:to] = _numbers(table[name], name, column)
        for name in _TEXTS:
            codes[name][at:to] = _codes(table[name], known[name])
        at = to
    return raw | {name: Codes(codes[name], tuple(known[name])) for name in _TEXTS}


def _halves(column: pa.ChunkedArray, file: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Zeros, which no id is, where there is none."""
    if column.type != pa.binary(16):
        raise InputError(f"{file}: is no file of spans: trace_id has to be 16 bytes, here it is {column.type}")
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(bytes(16), column.type))
    halves = [np.frombuffer(_bytes(chunk), ">u8").reshape(-1, 2) for chunk in column.chunks]
    joined = np.concatenate(halves) if halves else np.empty((0, 2), ">u8")
    return joined[:, 0].astype(np.uint64), joined[:, 1].astype(np.uint64)


def _bytes(chunk: pa.Array) -> memoryview:
    return memoryview(chunk.buffers()[1])[16 * chunk.offset : 16 * (chunk.offset + len(chunk))]


def _numbers(column: pa.ChunkedArray, name: str, dtype: Any) -> NDArray[Any]:
    """Where there is no value: a span that never ended, else 0."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(-1 if name == "duration_ns" else 0, column.type))
    wanted = SCHEMA.field(name).type
    safe = name not in ("start_ns", "duration_ns")  # of these, what does not fit becomes one that cannot be
    values: NDArray[Any] = (column if column.type == wanted else column.cast(wanted, safe=safe)).to_numpy()
    return values.astype(dtype, copy=False)


def _codes(column: pa.ChunkedArray, known: dict[str, int]) -> NDArray[np.int32]:
    """The texts as numbers, the same in every row group; no text is the empty one."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    parts = [np.empty(0, np.int32)]
    for chunk in column.chunks:
        names = [name or "" for name in chunk.dictionary.cast(pa.string()).to_pylist()]
        moved = np.array([known.setdefault(name, len(known)) for name in names], np.int32)
        if not chunk.indices.null_count:
            parts.append(moved[chunk.indices.to_numpy()])
            continue
        absent = known.setdefault("", len(known))
        with_absent = np.append(moved, np.int32(absent))
        parts.append(with_absent[pc.fill_null(chunk.indices, len(moved)).to_numpy()])
    return np.concatenate(parts)


def _leave_out(raw: dict[str, Any]) -> int:
    """Leave out the spans without a trace's id or with times that cannot be, and return how many these were."""
    start, duration = raw["start_ns"], raw["duration_ns"]
    usable = (start > 0) & (start < _LATEST) & (duration >= -1) & (duration < _LONGEST) & (raw["high"] | raw["low"] > 0)
    if usable.all():
        return 0
    _reorder(raw, np.flatnonzero(usable))
    return int(len(usable) - usable.sum())


def _sort(raw: dict[str, Any]) -> None:
    """By trace and start, then by all the rest: whatever the file's order, equal spans come out in equal order.

    A file of ``stone spans`` is sorted by trace and start already: only spans that start together are moved.
    """
    for name in _TEXTS:
        raw[name] = _by_name(raw[name])
    high, low, start = raw["high"], raw["low"], raw["start_ns"]
    same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    rises = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    if not (rises | (same & (start[1:] >= start[:-1]))).all():
        _reorder(raw, np.lexsort((start, low, high)))
        high, low, start = raw["high"], raw["low"], raw["start_ns"]
        same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    tied = np.zeros(len(high), np.bool_)
    tied[1:] = same & (start[1:] == start[:-1])
    tied[:-1] |= tied[1:]
    if len(places := np.flatnonzero(tied)):
        texts = [raw[name].codes[places] for name in _TEXTS]
        rest = [raw[name][places] for name in ("status", "kind", "parent_id", "duration_ns", "span_id")]
        order = places[np.lexsort((*texts, *rest, start[places], low[places], high[places]))]
        for column in raw.values():  # of the other rows nothing is copied
            values = column.codes if isinstance(column, Codes) else column
            values[places] = values[order]


def _by_name(column: Codes) -> Codes:
    """The same texts, numbered in their order: not as they were first seen."""
    names = sorted(column.names)
    number = {name: code for code, name in enumerate(names)}
    moved = np.array([number[name] for name in column.names], np.int32)
    return Codes(moved[column.codes], tuple(names))


def _reorder(raw: dict[str, Any], order: NDArray[Any]) -> None:
    for name, column in raw.items():
        raw[name] = column.take(order) if isinstance(column, Codes) else column[order]


def _linked(raw: dict[str, Any], unusable: int, from_ns: int | None, to_ns: int | None) -> SpanColumns:
    """The trees, of the traces whose root starts in the window."""
    high, low = raw.pop("high"), raw.pop("low")
    size = len(high)
    begins = np.ones(size, np.bool_)
    begins[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    starts = np.flatnonzero(begins)
    first: Ints = np.append(starts, size).astype(np.int64)
    ids = np.stack([high[starts], low[starts]], axis=1).astype(">u8").view(np.uint8).reshape(-1, 16)
    del high, low, begins
    parent, root, stays, counts = linking.link(first, raw["span_id"], raw["parent_id"], raw["kind"])
    began = raw["start_ns"][root]
    inside = (began >= (0 if from_ns is None else from_ns)) & (began < (_LATEST if to_ns is None else to_ns))
    stays &= np.repeat(inside, np.diff(first))
    found = {name: int(count) for name, count in zip(linking.COUNTS, counts[inside].sum(axis=0), strict=True)}
    traces = int(inside.sum())
    health = Health(traces, spans=int(stays.sum()), outside=len(root) - traces, unusable=unusable, **found)
    spans = SpanColumns(first=first, trace_id=ids, root=root, parent=parent, health=health, **raw)
    return spans if stays.all() else spans.keep(stays, health)
