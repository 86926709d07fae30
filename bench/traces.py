"""The analysis of traces: spans a second in memory, 10 million from file to tables, a million as Jaeger's JSON.

The traces are those of a made-up Hotel Reservation (``tests/made_traces.py``), drawn again and again, each stretched at
random and with an id of its own. Every measurement is a process of its own, whose compiled code is in the cache; the
peer is the same walk in plain Python over some of the traces, which has to find the same times.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.common import ROOT, Row, median_row, report
from loadstone.analysis.traces import SpanColumns, analyse, jaeger, linking, read
from loadstone.analysis.traces.critical import walk
from loadstone.analysis.traces.grouping import by
from loadstone.analysis.traces.reading import SCHEMA
from loadstone.analysis.traces.spans import ERROR
from loadstone.analysis.traces.times import times
from tests.made_traces import START_NS, Application, table

SPANS, DRAWN, ROUNDS, SAMPLE = 10_000_000, 2_000, 5, 5_000
WRITTEN = 1_000_000
GROUP = 131_072

NOTES = [
    f"{SPANS:,} spans of {DRAWN:,} different traces, 19 spans each; {ROUNDS} rounds, each its own process",
    "in memory: exclusive times and critical paths of spans whose parents are known; linking: finding the parents",
    "file to tables: read, link, compare clocks, walk, all five tables; compiled code from the cache",
    f"as Jaeger's JSON: all traces of a file of {WRITTEN:,} spans, written to disk; memory with the spans in it",
    f"plain Python: the same walk over {SAMPLE:,} traces, with the same result",
]


def main() -> None:
    if sys.argv[1:]:
        work = {"analysis": measure, "jaeger": measure_writing}[sys.argv[1]]
        print(json.dumps(work(Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory(prefix="loadstone-bench-traces-") as folder:
        file = Path(folder) / "spans.parquet"
        make(file, SPANS)
        print(f"traces: {file.stat().st_size / 1e6:.0f} MB", file=sys.stderr)
        measured("analysis", file)  # compiles where the cache is empty
        rounds = [measured("analysis", file) for _ in range(ROUNDS)]
        make(file, WRITTEN)
        written = [measured("jaeger", file) for _ in range(ROUNDS)]
    both = [round["walk"] / round["plain"] for round in rounds]
    rows = [
        at_least(median_row("critical path and exclusive times", "M spans/s", [r["walk"] / 1e6 for r in rounds]), 5),
        median_row("finding parents", "M spans/s", [r["link"] / 1e6 for r in rounds]),
        at_most(median_row("file to tables", "s", [r["whole_s"] for r in rounds]), 15),
        median_row("of it reading and finding parents", "s", [r["read_s"] for r in rounds]),
        at_most(median_row("peak memory", "GB", [r["peak_gb"] for r in rounds]), 4),
        at_most(median_row("a million spans as Jaeger's JSON", "s", [r["write_s"] for r in written]), 20),
        at_most(median_row("its peak memory", "GB", [r["peak_gb"] for r in written]), 1),
        median_row("its size", "GB", [r["size_gb"] for r in written]),
    ]
    plain = median_row("plain Python", "M spans/s", [r["plain"] / 1e6 for r in rounds])
    ratio = median_row("", "", both)
    rows[0] = replace(rows[0], peer="plain Python", peer_value=plain.value, ratio=ratio.value)
    report("traces", rows, NOTES)


def at_least(row: Row, limit: float) -> Row:
    return replace(row, target=f">= {limit:g}", holds=row.value >= limit)


def at_most(row: Row, limit: float) -> Row:
    return replace(row, target=f"<= {limit:g}", holds=row.value <= limit)


def measured(what: str, file: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.traces", what, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    print("traces: " + ", ".join(f"{name} {value:.4g}" for name, value in result.items()), file=sys.stderr)
    return result


def measure(file: Path) -> dict[str, float]:
    """One round: spans/s of ``walk``, ``link`` and ``plain``, seconds of the whole and of reading, peak memory."""
    began = time.perf_counter()
    spans = read(file)
    read_s = time.perf_counter() - began
    traces = analyse(spans)
    whole_s = time.perf_counter() - began
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    on_path = traces.critical.on_path
    del traces
    start, end, _ = times(spans, np.zeros(len(spans.host.names), np.int64))
    linked_s = timed(lambda: linking.link(spans.first, spans.span_id, spans.parent_id, spans.kind))
    calls, _ = by(spans.service, spans.operation, spans.peer)
    failed = spans.status == ERROR
    walked_s = timed(lambda: walk(spans.first, spans.parent, spans.root, start, end, calls, failed))
    sampled = int(spans.first[SAMPLE])
    plain: list[int] = []
    plain_s = timed(lambda: plain.extend(in_plain_python(spans, SAMPLE)))
    if plain != on_path[:sampled].tolist():
        raise SystemExit("plain Python found other times on the critical path")
    return {
        "walk": len(spans) / walked_s,
        "link": len(spans) / linked_s,
        "plain": sampled / plain_s,
        "whole_s": whole_s,
        "read_s": read_s,
        "peak_gb": peak_gb,
    }


def measure_writing(file: Path) -> dict[str, float]:
    """One round: seconds of writing all traces as Jaeger's JSON, peak memory, size of the file."""
    spans = read(file)
    target = file.with_suffix(".json")

    def written() -> None:
        with target.open("w", encoding="utf-8") as text:
            text.writelines(jaeger(spans, [spans.hex_id(trace) for trace in range(spans.traces)]))

    write_s = timed(written)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"write_s": write_s, "peak_gb": peak_gb, "size_gb": target.stat().st_size / 1e9}


def timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_plain_python(spans: SpanColumns, traces: int) -> list[int]:
    """Exclusive time on the critical path by span, -1 off it, of the first traces; nothing is odd about them, and no
    calls overlap by next to nothing."""
    first, parent = spans.first[: traces + 1].tolist(), spans.parent.tolist()
    start = spans.start_ns[: first[-1]].tolist()
    end = (spans.start_ns[: first[-1]] + spans.duration_ns[: first[-1]]).tolist()
    found = [-1] * first[-1]
    for trace in range(traces):
        children: dict[int, list[int]] = {}
        for row in range(first[trace], first[trace + 1]):
            children.setdefault(parent[row], []).append(row)
        waiting = list(children[-1])
        while waiting:
            row = waiting.pop()
            reached, left = end[row], end[row] - start[row]
            for child in sorted(children.get(row, ()), key=lambda child: (-end[child], child)):
                if end[child] <= reached:
                    left -= end[child] - start[child]
                    reached = start[child]
                    waiting.append(child)
            found[row] = left
    return found


def make(file: Path, spans: int) -> None:
    """So many spans, of traces drawn from ``DRAWN`` different ones, sorted by id as ``stone spans`` leaves them."""
    drawn = table(Application().rows(DRAWN))
    ids = drawn["trace_id"].to_pylist()
    edges = np.array([0, *(k for k in range(1, len(ids)) if ids[k] != ids[k - 1]), len(ids)])
    start, length = (drawn[name].to_numpy() for name in ("start_ns", "duration_ns"))
    since = start - np.repeat(start[edges[:-1]], np.diff(edges))
    random = np.random.default_rng(1)
    traces = spans // (len(ids) // DRAWN)
    high = np.sort(random.integers(0, 2**63, traces, dtype=np.uint64))
    texts = [name for name in SCHEMA.names if SCHEMA.field(name).type == pa.string()]
    for name in texts:
        drawn = drawn.set_column(drawn.column_names.index(name), name, drawn[name].dictionary_encode())
    with pq.ParquetWriter(file, drawn.schema, compression="zstd") as writer:
        for low in range(0, traces, 10 * GROUP // 19):
            some = high[low : low + 10 * GROUP // 19]
            which = random.integers(0, DRAWN, len(some))
            sizes = edges[which + 1] - edges[which]
            ends = np.cumsum(sizes)
            rows = np.arange(ends[-1]) - np.repeat(ends - sizes - edges[which], sizes)
            stretch = np.repeat(random.uniform(0.5, 2.0, len(some)), sizes)
            begin, finish = ((at * stretch).astype(np.int64) for at in (since[rows], since[rows] + length[rows]))
            at = START_NS + np.repeat((low + np.arange(len(some))) * 1_000_000, sizes)
            id = np.stack([some, random.integers(0, 2**63, len(some), dtype=np.uint64)], axis=1).astype(">u8")
            columns = {name: drawn[name].take(pa.array(rows)) for name in drawn.column_names}
            columns["trace_id"] = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(16), len(rows), [None, pa.py_buffer(np.repeat(id, sizes, axis=0).tobytes())]
            )
            columns |= {"start_ns": pa.array(at + begin), "duration_ns": pa.array(finish - begin)}
            writer.write_table(pa.table(columns, schema=drawn.schema), row_group_size=GROUP)


if __name__ == "__main__":
    main()
