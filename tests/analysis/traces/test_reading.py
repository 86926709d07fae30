"""How files of spans are read, and the errors of other files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.analysis.traces import analyse, read
from loadstone.analysis.traces.reading import SCHEMA
from loadstone.model.errors import InputError
from tests.made_traces import START_NS, Application, span, table, write


def trace(number: int, start: int) -> list[dict]:
    """Root and child, each 10 ns later than the one above."""
    id = number.to_bytes(16, "big")
    return [
        span(1, 0, start, start + 50, "a", trace_id=id),
        span(2, 1, start + 10, start + 40, "b", trace_id=id, operation=f"of {number}"),
    ]


def test_columns_are_those_of_the_file(tmp_path: Path) -> None:
    rows = Application().rows(40)
    spans = read(write(tmp_path / "spans.parquet", rows, group=100))
    assert len(spans) == len(rows) and spans.traces == 40 == spans.health.traces
    ordered = table(rows).to_pylist()
    for name in ("service", "replica", "host", "operation", "peer"):
        column = getattr(spans, name)
        assert [column.at(row) for row in range(len(spans))] == [row[name] for row in ordered]
    for name in ("span_id", "parent_id", "kind", "status", "start_ns", "duration_ns"):
        assert getattr(spans, name).tolist() == [row[name] for row in ordered]
    assert [spans.hex_id(t) for t in range(40)] == sorted({row["trace_id"].hex() for row in rows})


def test_only_traces_whose_root_starts_in_the_window_count(tmp_path: Path) -> None:
    rows = [row for number, start in enumerate((100, 200, 300), 1) for row in trace(number, start)]
    file = write(tmp_path / "spans.parquet", rows)
    spans = read(file, 200, 300)
    assert [spans.hex_id(t)[-1] for t in range(spans.traces)] == ["2"]
    assert spans.first.tolist() == [0, 2] and spans.root.tolist() == [0] and spans.parent.tolist() == [-1, 0]
    assert [spans.operation.at(row) for row in range(2)] == ["op1", "of 2"]
    assert (spans.health.traces, spans.health.spans, spans.health.outside) == (1, 2, 2)
    assert read(file, from_ns=102).traces == 2 and read(file, to_ns=300).traces == 2
    nothing = analyse(read(file, 400))
    assert nothing.spans.traces == 0 and nothing.clocks.num_rows == 0


def test_counts_are_of_the_traces_in_the_window(tmp_path: Path) -> None:
    rows = [row for number, start in enumerate((100, 200), 1) for row in trace(number, start)]
    rows += [span(2, 1, 260, 270, trace_id=(2).to_bytes(16, "big")), span(5, 9, 110, 120)]
    file = write(tmp_path / "spans.parquet", rows)
    assert (read(file).health.duplicates, read(file).health.orphans) == (1, 1)
    health = read(file, 200).health
    assert (health.duplicates, health.orphans, health.spans) == (1, 0, 2)


def test_order_and_forms_of_columns_do_not_matter(tmp_path: Path) -> None:
    rows = Application().rows(20)
    sorted_file = write(tmp_path / "sorted.parquet", rows)
    other = table(rows).take(pa.array(list(range(len(rows)))[::-1]))
    other = other.set_column(9, "start_ns", other["start_ns"].cast(pa.uint64()))
    other = other.append_column("more", other["kind"])
    pq.write_table(other, tmp_path / "other.parquet", use_dictionary=False, row_group_size=33)
    item, two = analyse(read(sorted_file)), analyse(read(tmp_path / "other.parquet"))
    found = [dict(zip(x.spans.span_id.tolist(), x.critical.on_path.tolist(), strict=True)) for x in (item, two)]
    assert found[0] == found[1]
    for name in ("operations", "services", "paths", "heat"):
        key = [(column, "ascending") for column in getattr(item, name).column_names]
        assert getattr(item, name).sort_by(key) == getattr(two, name).sort_by(key)


def test_what_is_absent_is_none(tmp_path: Path) -> None:
    rows = [span(1, 0, 0, 10), span(2, 1, 2, 4)]
    rows[1] |= {"peer": None, "status": None, "parent_id": None, "duration_ns": None}
    spans = read(write(tmp_path / "spans.parquet", rows))
    assert (spans.peer.at(1), spans.status[1], spans.parent_id[1], spans.duration_ns[1]) == ("", 0, 0, -1)
    assert spans.health.several_roots == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"start_ns": 0},
        {"start_ns": 0, "duration_ns": START_NS},
        {"start_ns": -5},
        {"start_ns": 2**62 + 1},
        {"start_ns": None},
        {"duration_ns": 2**61},
        {"duration_ns": -70},
        {"trace_id": None},
        {"trace_id": bytes(16)},
    ],
    ids=str,
)
def test_one_bad_span_is_left_out_and_counted(bad: dict[str, Any], tmp_path: Path) -> None:
    good = [row for number in (1, 2) for row in trace(number, START_NS)]
    found = analyse(read(write(tmp_path / "spans.parquet", [*good, span(7, 1, 20, 30) | bad])))
    clean = analyse(read(write(tmp_path / "clean.parquet", good)))
    assert found.health == replace(clean.health, unusable=1)
    assert found.services == clean.services and found.paths == clean.paths


def test_times_of_others_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    rows = table([span(1, 0, 0, 50), span(2, 1, 10, 20)])
    rows = rows.set_column(9, "start_ns", pa.array([1, 2**63 + 5], pa.uint64()))
    pq.write_table(rows, tmp_path / "spans.parquet")
    assert (len(spans := read(tmp_path / "spans.parquet")), spans.health.unusable) == (1, 1)


def test_a_file_without_spans_has_empty_tables(tmp_path: Path) -> None:
    traces = analyse(read(write(tmp_path / "spans.parquet", [])))
    assert traces.spans.traces == 0
    assert [len(t) for t in (traces.operations, traces.services, traces.paths, traces.clocks, traces.heat)] == [0] * 5
    assert traces.services.column_names[0] == "service"


def damaged(file: Path, how: str) -> None:
    rows = Application().rows(5)
    if how == "no parquet":
        file.write_text("trace_id,span_id\n")
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "cut off":
        whole = write(file, rows).read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
    elif how == "broken inside":
        whole = bytearray(write(file, rows).read_bytes())
        whole[100:600] = bytes(500)
        file.write_bytes(bytes(whole))
    elif how == "a folder":
        file.mkdir()
    elif how == "another table":
        pq.write_table(pa.table({"trace_id": [b"x" * 16], "load": [1.0]}), file)
    elif how == "texts for numbers":
        pq.write_table(table(rows).set_column(10, "duration_ns", pa.array(["long"] * len(rows))), file)
    elif how == "short ids":
        pq.write_table(table(rows).set_column(0, "trace_id", pa.array([b"short"] * len(rows))), file)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("nothing there", "there is no such file"),
        ("no parquet", "cannot be read as spans"),
        ("empty", "cannot be read as spans"),
        ("cut off", "cannot be read as spans"),
        ("broken inside", "cannot be read as spans"),
        ("a folder", "cannot be read as spans"),
        ("another table", "lacks the columns span_id, parent_id, service"),
        ("texts for numbers", "cannot be read as spans"),
        ("short ids", "trace_id has to be 16 bytes, here it is binary"),
    ],
)
def test_other_files_are_refused_with_words(how: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "spans.parquet"
    damaged(file, how)
    with pytest.raises(InputError) as refused:
        read(file)
    assert str(file) in str(refused.value) and expected in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_schema_is_the_one_that_is_written_down() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/traces.md").read_text(encoding="utf-8")
    assert [name for name in SCHEMA.names if f"| `{name}` |" not in page] == []
