"""Traces made by hand, one for each thing that can be odd, with the times that follow from the rules."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from loadstone.analysis.traces import TraceAnalysis, analyse, read
from loadstone.analysis.traces.spans import CLIENT, ERROR, SERVER
from tests.made_traces import Row, span, write

Times = dict[int, tuple[int, int | None]]
"""By span id: exclusive time, and that on the critical path (None: not on it)."""

CASES: dict[str, tuple[list[Row], Times, dict[str, int]]] = {
    "one span": ([span(1, 0, 5, 15)], {1: (10, 10)}, {}),
    "sequential children": (
        [span(1, 0, 0, 100), span(2, 1, 10, 30), span(3, 1, 40, 90)],
        {1: (30, 30), 2: (20, 20), 3: (50, 50)},
        {},
    ),
    "parallel children: the last to finish": (
        [span(1, 0, 0, 100), span(2, 1, 10, 60), span(3, 1, 10, 90)],
        {1: (20, 20), 2: (50, None), 3: (80, 80)},
        {"overlapping": 1},
    ),
    "overlapping children: only what had finished when the last began": (
        [span(1, 0, 0, 100), span(2, 1, 0, 20), span(3, 1, 15, 50), span(4, 1, 40, 90)],
        {1: (10, 30), 2: (20, 20), 3: (35, None), 4: (50, 50)},
        {"overlapping": 2},
    ),
    "a child within a sibling's time is covered once": (
        [span(1, 0, 0, 100), span(2, 1, 10, 90), span(3, 1, 20, 30), span(4, 1, 40, 50)],
        {1: (20, 20), 2: (80, 80), 3: (10, None), 4: (10, None)},
        {"overlapping": 2},
    ),
    "nested": (
        [span(1, 0, 0, 100), span(2, 1, 10, 90), span(3, 2, 20, 80), span(4, 3, 30, 40)],
        {1: (20, 20), 2: (20, 20), 3: (50, 50), 4: (10, 10)},
        {},
    ),
    "what is below a span off the path is off it too": (
        [span(1, 0, 0, 100), span(2, 1, 0, 50), span(3, 2, 0, 40), span(4, 1, 0, 90)],
        {1: (10, 10), 2: (10, None), 3: (40, None), 4: (90, 90)},
        {"overlapping": 1},
    ),
    "work that outlives its parent was not waited for, the call beside it was": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 900), span(3, 1, 10, 5000)],
        {1: (0, 100), 2: (900, 900), 3: (4990, None)},
        {"outliving": 1, "overlapping": 1},
    ),
    "nor was it where it began after the call": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 900), span(3, 1, 910, 5000)],
        {1: (10, 100), 2: (900, 900), 3: (4090, None)},
        {"outliving": 1},
    ),
    "a call that ends after its parent by next to nothing was waited for": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 100), span(3, 1, 100, 1010)],
        {1: (0, 0), 2: (100, 100), 3: (910, 900)},
        {"outliving": 1},
    ),
    "a call that outlives its parent was waited for where all else took up to 1 % of it": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 5), span(3, 1, 5, 10), span(4, 1, 10, 1200), span(5, 4, 20, 900)],
        {1: (0, 0), 2: (5, 5), 3: (5, 5), 4: (310, 110), 5: (880, 880)},
        {"outliving": 1},
    ),
    "what ran beside such a call does not count": (
        [span(1, 0, 0, 1000), span(2, 1, 2, 6), span(3, 1, 4, 1200), span(4, 1, 990, 995), span(5, 4, 990, 993)],
        {1: (2, 2), 2: (4, 2), 3: (1196, 996), 4: (2, None), 5: (3, None)},
        {"outliving": 1, "overlapping": 1},
    ),
    "nor was it waited for where all else took more": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 11), span(3, 1, 11, 1200)],
        {1: (0, 989), 2: (11, 11), 3: (1189, None)},
        {"outliving": 1},
    ),
    "of a hedged pair that outlives its parent the winner counts": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 5000, operation="get"), span(3, 1, 400, 1020, operation="get")],
        {1: (0, 400), 2: (5000, None), 3: (620, 600)},
        {"outliving": 2, "overlapping": 1},
    ),
    "of a hedged pair whose loser outlives the parent the winner counts": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 5000, operation="get"), span(3, 1, 400, 990, operation="get")],
        {1: (0, 410), 2: (5000, None), 3: (590, 590)},
        {"outliving": 1, "overlapping": 1},
    ),
    "of a hedged pair whose loser is cancelled the winner counts": (
        [
            span(1, 0, 0, 1000),
            span(2, 1, 0, 993, operation="get", status=ERROR),
            span(3, 1, 400, 990, operation="get"),
        ],
        {1: (7, 410), 2: (993, None), 3: (590, 590)},
        {"overlapping": 1},
    ),
    "of two calls that do not do the same the one that failed last was waited for": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 993, operation="get", status=ERROR), span(3, 1, 400, 990)],
        {1: (7, 7), 2: (993, 993), 3: (590, None)},
        {"overlapping": 1},
    ),
    "calls that overlap by 1 ns follow each other": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 501), span(3, 1, 500, 900)],
        {1: (100, 100), 2: (501, 500), 3: (400, 400)},
        {},
    ),
    "calls that overlap by 1 % of their parent follow each other, with what is within them": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 510), span(3, 1, 500, 900), span(4, 2, 100, 510), span(5, 2, 505, 507)],
        {1: (100, 100), 2: (100, 100), 3: (400, 400), 4: (410, 400), 5: (2, None)},
        {"overlapping": 1},
    ),
    "calls that overlap by more are parallel": (
        [span(1, 0, 0, 1000), span(2, 1, 0, 511), span(3, 1, 500, 900)],
        {1: (100, 600), 2: (511, None), 3: (400, 400)},
        {"overlapping": 1},
    ),
    "a child that outlives its parent counts to its end, where there is no other": (
        [span(1, 0, 0, 100), span(2, 1, 20, 60), span(3, 2, 40, 90)],
        {1: (60, 60), 2: (20, 20), 3: (50, 20)},
        {"outliving": 1},
    ),
    "a child that begins before its parent counts from its start": (
        [span(1, 0, 0, 100), span(2, 1, 20, 60), span(3, 2, 10, 50)],
        {1: (60, 60), 2: (10, 10), 3: (40, 30)},
        {"early": 1},
    ),
    "a child that is nowhere within its parent is not on the path": (
        [span(1, 0, 0, 50), span(2, 1, 60, 90), span(3, 2, 60, 70)],
        {1: (50, 50), 2: (20, None), 3: (10, None)},
        {"outliving": 1},
    ),
    "a span that never ended ends with its parent": (
        [span(1, 0, 0, 100), span(2, 1, 20, 60), span(3, 2, 30, None), span(4, 3, 35, None)],
        {1: (60, 60), 2: (10, 10), 3: (5, 5), 4: (25, 25)},
        {"unfinished": 2},
    ),
    "a root that never ended ends with the last of its trace": (
        [span(1, 0, 0, None), span(2, 1, 20, 60), span(3, 2, 30, 70), span(4, 1, 65, None)],
        {1: (25, 25), 2: (10, 10), 3: (40, 30), 4: (5, 5)},
        {"unfinished": 2, "outliving": 1},
    ),
    "a span that never ended and began after its parent's end has no length": (
        [span(1, 0, 0, 50), span(2, 1, 60, None)],
        {1: (50, 50), 2: (0, None)},
        {"unfinished": 1, "outliving": 1, "empty": 1},
    ),
    "what never ended is closed from the root down, whatever began first": (
        [span(1, 0, 0, 50), span(2, 1, 60, None), span(3, 2, 55, None)],
        {1: (50, 50), 2: (0, None), 3: (5, None)},
        {"unfinished": 2, "outliving": 1, "early": 1, "empty": 1},
    ),
    "orphans hang on the root": (
        [span(1, 0, 0, 100), span(2, 99, 20, 60), span(3, 2, 30, 40)],
        {1: (60, 60), 2: (30, 30), 3: (10, 10)},
        {"orphans": 1},
    ),
    "without a root the first orphan is it": (
        [span(2, 99, 0, 60), span(3, 2, 30, 40), span(4, 98, 45, 55)],
        {2: (40, 40), 3: (10, 10), 4: (10, 10)},
        {"rootless": 1, "orphans": 1},
    ),
    "of several roots the first is it": (
        [span(1, 0, 0, 100), span(2, 0, 20, 60), span(3, 0, 90, 120)],
        {1: (50, 60), 2: (40, 40), 3: (30, None)},
        {"several_roots": 1, "outliving": 1},
    ),
    "of two spans with one id the first is kept": (
        [span(1, 0, 0, 100), span(2, 1, 10, 30), span(2, 1, 40, 90), span(3, 2, 15, 20)],
        {1: (80, 80), 2: (15, 15), 3: (5, 5)},
        {"duplicates": 1},
    ),
    "client and server with one id are two spans": (
        [
            span(1, 0, 0, 100),
            span(2, 1, 10, 90, kind=CLIENT),
            span(2, 1, 20, 80, "b", kind=SERVER, operation="served"),
            span(3, 2, 30, 50, "b"),
        ],
        {1: (20, 20), 2: (20, 20), 3: (20, 20)},
        {"shared": 1},
    ),
    "the server of one id may come first": (
        [
            span(1, 0, 0, 100),
            span(2, 1, 8, 80, "b", kind=SERVER, operation="served"),
            span(2, 1, 10, 90, kind=CLIENT),
            span(3, 2, 30, 50, "b"),
        ],
        {1: (20, 20), 2: (10, 10), 3: (20, 20)},
        {"shared": 1, "early": 1},
    ),
    "a span that is its own parent hangs on the root": (
        [span(1, 0, 0, 100), span(2, 2, 20, 60)],
        {1: (60, 60), 2: (40, 40)},
        {"cycles": 1},
    ),
    "a ring is cut at its first span": (
        [span(1, 0, 0, 100), span(2, 4, 10, 70), span(3, 2, 20, 60), span(4, 3, 30, 50), span(5, 4, 35, 45)],
        {1: (40, 40), 2: (20, 20), 3: (20, 20), 4: (10, 10), 5: (10, 10)},
        {"cycles": 1},
    ),
    "nothing but a ring": (
        [span(1, 3, 0, 100), span(2, 1, 10, 70), span(3, 2, 20, 60)],
        {1: (40, 40), 2: (20, 20), 3: (40, 40)},
        {"cycles": 1, "rootless": 1},
    ),
    "spans of no length are on the path and take nothing": (
        [span(1, 0, 0, 100), span(2, 1, 50, 50), span(3, 2, 50, 50)],
        {1: (100, 100), 2: (0, 0), 3: (0, 0)},
        {"empty": 2},
    ),
    "a root of no length": ([span(1, 0, 7, 7), span(2, 1, 7, 7)], {1: (0, 0), 2: (0, 0)}, {"empty": 2}),
    "of children that end together the one that began first": (
        [span(1, 0, 0, 100), span(2, 1, 20, 80), span(3, 1, 40, 80)],
        {1: (40, 40), 2: (60, 60), 3: (40, None)},
        {"overlapping": 1},
    ),
}


@pytest.mark.parametrize(("rows", "expected", "counts"), CASES.values(), ids=CASES.keys())
def test_times_and_counts(rows: list[Row], expected: Times, counts: dict[str, int], tmp_path: Path) -> None:
    traces = analyse(read(write(tmp_path / "spans.parquet", rows)))
    found = times(traces)
    assert {id: found[id] for id in expected} == expected
    assert traces.critical.on_path[traces.critical.on_path >= 0].sum() == traces.durations_ns[0]
    odd = {name: count for name, count in asdict(traces.health).items() if count and name not in ("traces", "spans")}
    assert odd == counts


def times(traces: TraceAnalysis) -> Times:
    """By span id; of a client and a server with one id the client's."""
    found: Times = {}
    for row in range(len(traces.spans)):
        if traces.spans.operation.at(row) != "served":
            on_path = int(traces.critical.on_path[row])
            id = int(traces.spans.span_id[row])
            found[id] = int(traces.critical.exclusive[row]), None if on_path < 0 else on_path
    return found


def test_the_served_half_of_a_shared_id_has_the_children(tmp_path: Path) -> None:
    rows, _, _ = CASES["client and server with one id are two spans"]
    spans = read(write(tmp_path / "spans.parquet", rows))
    names = [spans.operation.at(row) for row in range(4)]
    parents = {names[row]: names[spans.parent[row]] for row in range(4) if spans.parent[row] >= 0}
    assert parents == {"op2": "op1", "served": "op2", "op3": "served"}


def test_traces_do_not_touch_each_other(tmp_path: Path) -> None:
    """All cases in one file, with ids that recur: each trace comes to what it comes to alone."""
    rows = [
        {**row, "trace_id": number.to_bytes(16, "big")}
        for number, (trace, _, _) in enumerate(CASES.values(), 1)
        for row in trace
    ]
    together = analyse(read(write(tmp_path / "spans.parquet", rows, group=7)))
    alone = [analyse(read(write(tmp_path / "one.parquet", trace))) for trace, _, _ in CASES.values()]
    assert together.critical.on_path.tolist() == [time for item in alone for time in item.critical.on_path.tolist()]
    assert together.critical.exclusive.tolist() == [time for item in alone for time in item.critical.exclusive.tolist()]
    assert together.durations_ns.tolist() == [int(item.durations_ns[0]) for item in alone]
    for name, count in asdict(together.health).items():
        assert count == sum(asdict(item.health)[name] for item in alone)
