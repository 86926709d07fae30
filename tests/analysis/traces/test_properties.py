"""Any spans whatever: the sums hold, nothing is negative, nothing hangs, and a slow reference finds the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis.traces import analyse, read
from loadstone.analysis.traces.reading import SCHEMA
from loadstone.analysis.traces.spans import CLIENT, ERROR, INTERNAL, SERVER
from tests.analysis.traces import reference
from tests.made_traces import Row, span, write

KINDS = st.sampled_from([INTERNAL, CLIENT, SERVER])
STATUSES = st.sampled_from([0, 0, ERROR])


@st.composite
def nonsense(draw: st.DrawFn) -> list[Row]:
    """Ids and parents from a small pool: duplicates, orphans, rings, several roots; any times, some without an end."""
    size = draw(st.integers(1, 40))
    ids = st.integers(0, draw(st.integers(1, 40)))
    lengths = st.none() | st.integers(0, 30)
    rows = []
    for _ in range(size):
        start, length = draw(st.integers(0, 60)), draw(lengths)
        end = None if length is None else start + length
        what = {"kind": draw(KINDS), "status": draw(STATUSES), "operation": draw(st.sampled_from("xy"))}
        rows.append(span(draw(ids), draw(ids), start, end, draw(st.sampled_from("abc")), **what))
    return rows


@st.composite
def trees(draw: st.DrawFn) -> list[Row]:
    """Each span but the first has an earlier one as its parent, and mostly lies within it."""
    rows = [span(1, 0, 0, 1000)]
    for id in range(2, draw(st.integers(2, 40))):
        above = draw(st.sampled_from(rows))
        begin, end = above["start_ns"], above["start_ns"] + above["duration_ns"]
        stray = draw(st.sampled_from([0, 0, 0, 20]))
        start = draw(st.integers(max(begin - stray, 0), end + stray))
        start = max(start - 1, 0)
        what = {"status": draw(STATUSES), "operation": draw(st.sampled_from("xy"))}
        rows.append(span(id, above["span_id"], start, draw(st.integers(start, max(start, end + stray))), **what))
    return rows


@st.composite
def fans(draw: st.DrawFn) -> list[Row]:
    """Calls of one parent at the borders of the rules: by up to a few ns too long for the next, or for the parent."""
    rows, at = [span(1, 0, 0, 1000)], 0
    for id in range(2, draw(st.integers(2, 12))):
        start = max(at - draw(st.sampled_from([0, 0, 1, 9, 10, 11, 500])), 0)
        at = start + draw(st.sampled_from([0, 1, 5, 100, 400]))
        end = draw(st.sampled_from([at, at, at, 1000, 1009, 1010, 1011, 5000]))
        what = {"status": draw(STATUSES), "operation": draw(st.sampled_from("xy"))}
        rows.append(span(id, draw(st.integers(1, id - 1)), start, max(start, end), **what))
    return rows


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces") / "spans.parquet"


@settings(deadline=None)
@given(rows=nonsense() | trees() | fans())
def test_one_trace_is_as_the_reference_has_it(file: Path, rows: list[Row]) -> None:
    traces = analyse(read(write(file, rows)))
    _, nodes = reference.analyse(rows)
    spans, critical = traces.spans, traces.critical
    assert spans.span_id.tolist() == [node.row["span_id"] for node in nodes]
    assert critical.exclusive.tolist() == [node.exclusive for node in nodes]
    assert critical.on_path.tolist() == [node.critical for node in nodes]


@settings(deadline=None, max_examples=40)
@given(many=st.lists(nonsense() | trees() | fans(), max_size=6))
def test_sums_hold_in_every_trace(file: Path, many: list[list[Row]]) -> None:
    rows = [{**row, "trace_id": bytes([n] * 16)} for n, trace in enumerate(many, 1) for row in trace]
    traces = analyse(read(write(file, rows, group=16)))
    spans, critical = traces.spans, traces.critical
    assert spans.traces == len(many)
    assert (critical.exclusive >= 0).all()
    assert (critical.on_path >= -1).all()
    sums = [int(np.maximum(critical.on_path[a:b], 0).sum()) for a, b in zip(spans.first, spans.first[1:], strict=False)]
    assert sums == traces.durations_ns.tolist()
    on_path = set(np.flatnonzero(critical.on_path >= 0).tolist())
    assert sorted(critical.order[critical.order >= 0].tolist()) == sorted(on_path)
    assert all(spans.parent[row] in on_path for row in on_path if spans.parent[row] >= 0)
    total = traces.durations_ns.sum()
    assert traces.tree.critical_ns.sum() == total
    assert sum(traces.services["critical_s"].to_pylist()) == pytest.approx(total / 1e9)
    assert sum(traces.operations["count"].to_pylist()) == len(spans)
    assert sum(traces.heat["count"].to_pylist()) == spans.traces


@settings(deadline=None, max_examples=40)
@given(many=st.lists(nonsense() | trees() | fans(), max_size=3), random=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(file: Path, many: list[list[Row]], random: Random) -> None:
    rows = [{**row, "trace_id": bytes([n] * 16)} for n, trace in enumerate(many, 1) for row in trace]
    before = analyse(read(write(file, rows)))
    random.shuffle(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, row_group_size=16)
    after = analyse(read(file))
    assert before.health == after.health
    for name in ("span_id", "parent", "start_ns", "duration_ns"):
        assert getattr(before.spans, name).tolist() == getattr(after.spans, name).tolist()
    for name in ("on_path", "exclusive", "order"):
        assert getattr(before.critical, name).tolist() == getattr(after.critical, name).tolist()
    for name in ("operations", "services", "paths", "clocks", "heat"):
        assert getattr(before, name) == getattr(after, name)


@settings(deadline=None, max_examples=20)
@given(rows=trees(), later=st.integers(0, 10**15))
def test_when_it_was_does_not_matter(file: Path, rows: list[Row], later: int) -> None:
    before = analyse(read(write(file, rows)))
    after = analyse(read(write(file, [{**row, "start_ns": row["start_ns"] + later} for row in rows])))
    assert before.critical.on_path.tolist() == after.critical.on_path.tolist()
    assert before.critical.exclusive.tolist() == after.critical.exclusive.tolist()
