"""Tables: whose time it is, along which path, how long operations took, when."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.analysis.traces import TraceAnalysis, analyse, read
from loadstone.analysis.traces.grouping import by, percentiles
from loadstone.analysis.traces.paths import DEEPEST, short
from loadstone.analysis.traces.spans import CLIENT, ERROR, SERVER, Codes
from tests.made_traces import MS, Application, span, write

CALL = [
    span(1, 0, 0, 100 * MS, "frontend", kind=SERVER, operation="GET /hotels"),
    span(2, 1, 10 * MS, 90 * MS, "frontend", kind=CLIENT, operation="rate.Rate/GetRates", peer="rate"),
    span(3, 2, 20 * MS, 80 * MS, "rate", kind=SERVER, operation="rate.Rate/GetRates", status=ERROR),
    span(4, 3, 30 * MS, 70 * MS, "rate", kind=CLIENT, operation="MGET", peer="memcached-rate"),
    span(5, 1, 92 * MS, 97 * MS, "frontend", kind=CLIENT, operation="lookup"),
]
"""A front end calls a service, over a network that takes 20 ms, and that a cache; and something without a name."""


@pytest.fixture
def call(tmp_path: Path) -> TraceAnalysis:
    return analyse(read(write(tmp_path / "spans.parquet", CALL)))


def test_time_on_the_network_is_the_callers_and_time_in_a_store_is_the_stores(call: TraceAnalysis) -> None:
    rows = {row.pop("service"): row for row in call.services.to_pylist()}
    assert list(rows) == ["frontend", "memcached-rate", "rate"]
    expected = {"spans": 3, "exclusive_s": 0.04, "critical_s": 0.04, "critical_share": 0.4, "per_request_ms": 40.0}
    assert rows["frontend"] == pytest.approx(expected | {"network_s": 0.02, "waited_s": 0.0})
    expected = {"spans": 1, "exclusive_s": 0.04, "critical_s": 0.04, "critical_share": 0.4, "per_request_ms": 40.0}
    assert rows["memcached-rate"] == pytest.approx(expected | {"network_s": 0.0, "waited_s": 0.0})
    expected = {"spans": 1, "exclusive_s": 0.02, "critical_s": 0.02, "critical_share": 0.2, "per_request_ms": 20.0}
    assert rows["rate"] == pytest.approx(expected | {"network_s": 0.0, "waited_s": 0.02})


def test_what_only_hangs_on_a_call_was_not_called_by_it(tmp_path: Path) -> None:
    """The driver's call is the root, and an orphan hangs on it that began later than the service that it called."""
    rows = [
        span(1, 0, 0, 100 * MS, "driver", kind=CLIENT, host="a"),
        span(2, 1, 40 * MS, 100 * MS, "web", kind=SERVER, host="b"),
        span(9, 7, 50 * MS, 90 * MS, "search", kind=SERVER, host="c"),
    ]
    traces = analyse(read(write(tmp_path / "spans.parquet", rows)))
    waited = {row["service"]: row["waited_s"] for row in traces.services.to_pylist()}
    assert waited == pytest.approx({"web": 0.04, "driver": 0.0, "search": 0.0})
    assert traces.paths["path"].to_pylist() == ["web op2", "to web"]
    assert {row["host"]: row["pairs"] for row in traces.clocks.to_pylist()} == {"a": 0, "b": 1, "c": 0}


def test_a_path_has_a_step_for_each_service_and_store(call: TraceAnalysis) -> None:
    rows = [
        (row["path"], row["count"], round(row["critical_s"] * 1000), row["depth"]) for row in call.paths.to_pylist()
    ]
    assert rows == [
        ("frontend GET /hotels > rate GetRates > memcached-rate MGET", 1, 40, 3),
        ("frontend GET /hotels > to rate", 1, 20, 2),
        ("frontend GET /hotels > rate GetRates", 1, 20, 2),
        ("frontend GET /hotels", 1, 15, 1),
        ("frontend GET /hotels > frontend lookup", 1, 5, 2),
    ]
    assert sum(row["share"] for row in call.paths.to_pylist()) == pytest.approx(1)


def test_operations_have_totals_and_exclusive_times(call: TraceAnalysis) -> None:
    rows = {(row["service"], row["operation"], row["peer"]): row for row in call.operations.to_pylist()}
    assert next(iter(rows)) == ("frontend", "GET /hotels", "")
    served = rows["rate", "rate.Rate/GetRates", ""]
    assert (served["count"], served["errors"]) == (1, 1)
    assert served["total_p50_ms"] == served["total_p99_ms"] == served["total_mean_ms"] == 60.0
    assert served["exclusive_p50_ms"] == served["exclusive_p99_ms"] == served["exclusive_mean_ms"] == 20.0
    called = rows["frontend", "rate.Rate/GetRates", "rate"]
    assert (called["total_p90_ms"], called["exclusive_mean_ms"], called["errors"]) == (80.0, 20.0, 0)


def test_the_same_chain_of_calls_is_one_path(tmp_path: Path) -> None:
    traces = analyse(read(write(tmp_path / "spans.parquet", Application().rows(200))))
    paths = {row["path"]: row for row in traces.paths.to_pylist()}
    assert paths["frontend GET /hotels > search Nearby > geo Nearby"]["count"] == 200
    assert paths["frontend GET /hotels > to search"]["count"] == 200
    assert paths["frontend GET /hotels > search Nearby > rate GetRates > memcached-rate MGET"]["depth"] == 4
    slower = [row["count"] for path, row in paths.items() if path.endswith(("find rates", "memcached-rate SET"))]
    assert sum(slower) == 200 and all(slower)  # of two parallel calls the one that ended last
    times = [row["critical_s"] for row in paths.values()]
    assert times == sorted(times, reverse=True)


def test_a_delay_in_a_service_shows_as_its_time(tmp_path: Path) -> None:
    """5 ms more in one service: its critical time grows by that, no other service's changes."""
    before = analyse(read(write(tmp_path / "before.parquet", Application().rows(300))))
    for slow in ("geo", "frontend", "documents-geo"):
        file = write(tmp_path / "after.parquet", Application(delay_ms={slow: 5.0}).rows(300))
        after = {row["service"]: row["per_request_ms"] for row in analyse(read(file)).services.to_pylist()}
        for row in before.services.to_pylist():
            more = after[row["service"]] - row["per_request_ms"]
            assert more == pytest.approx(5.0 if row["service"] == slow else 0.0, abs=0.05)


def test_paths_without_end_stop_growing(tmp_path: Path) -> None:
    deep = [span(n, n - 1, n, 1000 - n, operation="again") for n in range(1, 201)]
    traces = analyse(read(write(tmp_path / "spans.parquet", deep)))
    assert traces.paths.num_rows == DEEPEST == max(traces.paths["depth"].to_pylist())
    deepest = max(traces.paths.to_pylist(), key=lambda row: row["depth"])
    assert deepest["count"] == 200 - DEEPEST + 1
    assert sum(traces.paths["critical_s"].to_pylist()) == pytest.approx(998e-9)


@pytest.mark.parametrize(
    ("operation", "shown"),
    [
        ("search.Search/Nearby", "Nearby"),
        ("GET /hotels", "GET /hotels"),
        ("/hotels", "/hotels"),
        ("/a/b", "/a/b"),
        ("ComposePost", "ComposePost"),
        ("trailing/", "trailing/"),
        ("", ""),
    ],
)
def test_short_names(operation: str, shown: str) -> None:
    assert short(operation) == shown


def test_operations_of_the_same_short_name_are_one_step(tmp_path: Path) -> None:
    rows = [span(1, 0, 0, 10), *(span(n, 1, 2 * n, 2 * n + 1, operation=f"v{n}.S/M") for n in (2, 3))]
    traces = analyse(read(write(tmp_path / "spans.parquet", rows)))
    assert {row["path"]: row["count"] for row in traces.paths.to_pylist()} == {"a op1": 1, "a op1 > a M": 2}


def test_heat_counts_roots_by_start_and_duration(tmp_path: Path) -> None:
    lengths = [1_500_000, 1_500_000, 90_000_000, 500, 0]
    rows = [
        span(1, 0, number * 1_000_000_000, number * 1_000_000_000 + length, trace_id=(number + 1).to_bytes(16, "big"))
        for number, length in enumerate(lengths)
    ]
    cells = analyse(read(write(tmp_path / "spans.parquet", rows))).heat.to_pylist()
    assert [cell["count"] for cell in cells] == [1] * 5
    for cell, length in zip(cells, lengths, strict=True):
        assert cell["low_ms"] <= length / 1e6 < cell["high_ms"]
    assert [cell["from_s"] for cell in cells] == pytest.approx([0, 1, 2, 3, 4])
    assert [cell["to_s"] - cell["from_s"] for cell in cells] == pytest.approx([0.1] * 5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**12)), min_size=1))
def test_percentiles_are_the_least_value_that_enough_do_not_exceed(pairs: list[tuple[int, int]]) -> None:
    groups, values = (np.array(column) for column in zip(*pairs, strict=True))
    found = percentiles(values.astype(np.int64), groups.astype(np.int32), 6, (50.0, 99.0, 100.0))
    for group in range(6):
        of_group = sorted(value for at, value in pairs if at == group)
        for place, q in enumerate((50, 99, 100)):
            if not of_group:
                assert math.isnan(found[group, place])
                continue
            enough = q * len(of_group) / 100
            assert found[group, place] == next(v for v in of_group if sum(o <= v for o in of_group) >= enough)


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 2))))
def test_groups_are_numbered_as_they_are_first_seen(pairs: list[tuple[int, int]]) -> None:
    left = Codes(np.array([a for a, _ in pairs], np.int32), tuple(map(str, range(3001))))
    right = Codes(np.array([b for _, b in pairs], np.int32), ("x", "y", "z"))
    groups, texts = by(left, right)
    assert [texts[group] for group in groups] == [(str(a), "xyz"[b]) for a, b in pairs]
    assert texts == list(dict.fromkeys((str(a), "xyz"[b]) for a, b in pairs))


def test_many_groups_are_kept_apart() -> None:
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(50_000, dtype=np.int32), 2))
    groups, texts = by(Codes(codes, tuple(map(str, range(50_000)))))
    assert len(texts) == 50_000
    assert [texts[group][0] for group in groups[:1000]] == [str(code) for code in codes[:1000]]
