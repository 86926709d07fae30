"""Clocks that are apart are found, and what the traces say hardly moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.analysis.traces import TraceAnalysis, analyse, read
from loadstone.analysis.traces.spans import CLIENT, SERVER
from tests.made_traces import MS, Application, span, write

TRACES = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clocks")


@pytest.fixture(scope="module")
def truth(folder: Path) -> TraceAnalysis:
    return analyse(read(write(folder / "truth.parquet", Application().rows(TRACES))))


def shares(traces: TraceAnalysis) -> dict[str, float]:
    return {row["service"]: row["critical_share"] for row in traces.services.to_pylist()}


def offsets(traces: TraceAnalysis) -> dict[str, float]:
    return {row["host"].removeprefix("host-"): row["offset_ms"] for row in traces.clocks.to_pylist()}


def test_clocks_that_agree_are_left_alone(truth: TraceAnalysis) -> None:
    assert set(offsets(truth).values()) == {0.0}
    assert offsets(truth).keys() == {"frontend", "search", "geo", "rate", "reservation", "profile"}
    pairs = {row["host"]: row["pairs"] for row in truth.clocks.to_pylist()}
    assert pairs == {"host-frontend": 0} | {f"host-{name}": TRACES for name in offsets(truth) if name != "frontend"}


@pytest.mark.parametrize("service", ["frontend", "search", "geo", "profile"])
@pytest.mark.parametrize("offset_ms", [50.0, -50.0])
def test_a_clock_50_ms_off_moves_no_share_by_one_percent(
    service: str, offset_ms: float, truth: TraceAnalysis, folder: Path
) -> None:
    file = write(folder / "off.parquet", Application(clock_ms={service: offset_ms}).rows(TRACES))
    corrected, raw = analyse(read(file)), analyse(read(file), corrected=False)
    for name, share in shares(truth).items():
        assert shares(corrected)[name] == pytest.approx(share, abs=0.01 * share)
    assert max(abs(shares(raw).get(name, 0) - share) for name, share in shares(truth).items()) > 0.05
    expected = dict.fromkeys(offsets(corrected), 0.0) | {service: offset_ms}
    if service == "frontend":  # the root's host: the others are off against it
        expected = {name: 0.0 if name == "frontend" else -offset_ms for name in expected}
    assert offsets(corrected) == pytest.approx(expected, abs=0.3)
    assert offsets(raw) == offsets(corrected)


def test_offsets_add_up_along_calls(truth: TraceAnalysis, folder: Path) -> None:
    clocks = {"search": 200.0, "geo": -30.0, "rate": 1000.0, "profile": 3.0}
    found = analyse(read(write(folder / "many.parquet", Application(clock_ms=clocks).rows(TRACES))))
    assert offsets(found) == pytest.approx({"frontend": 0.0, "reservation": 0.0} | clocks, abs=0.5)
    for name, share in shares(truth).items():
        assert shares(found)[name] == pytest.approx(share, abs=0.01 * share)
    assert (found.health.outliving, found.health.early) == (0, 0)


def test_calls_that_were_given_up_do_not_shift_clocks(folder: Path) -> None:
    """The client gave up 4 % before the server had begun: their bounds say that the clocks are apart."""
    rows = []
    for number in range(400):
        id, start = (number + 1).to_bytes(16, "big"), number * 100 * MS
        late = 30 * MS if number % 25 == 7 else 0
        rows.append(span(1, 0, start, start + 20 * MS, trace_id=id))
        rows.append(span(2, 1, start, start + 10 * MS, trace_id=id, kind=CLIENT))
        begin, end = start + late + MS, start + late + 8 * MS
        rows.append(span(3, 2, begin, end, "b", trace_id=id, kind=SERVER, host="other"))
    traces = analyse(read(write(folder / "given-up.parquet", rows)))
    assert traces.clocks.to_pylist() == [
        {"host": "h", "offset_ms": 0.0, "pairs": 0},
        {"host": "other", "offset_ms": 0.0, "pairs": 400},
    ]


def test_hosts_that_no_call_joins_stay_as_they_are(folder: Path) -> None:
    rows = [span(1, 0, 0, 100), span(2, 1, 500, 550, "b", host="other", kind=SERVER)]
    traces = analyse(read(write(folder / "apart.parquet", rows)))
    assert {row["host"]: (row["offset_ms"], row["pairs"]) for row in traces.clocks.to_pylist()} == {
        "h": (0.0, 0),
        "other": (0.0, 0),
    }


def test_the_offset_is_the_middle_of_the_closest_bounds(folder: Path) -> None:
    """One call each, 100 ms off: the server's 6 ms lie within the client's 10."""
    rows = [
        span(1, 0, 0, 20 * MS, kind=CLIENT),
        span(2, 1, 102 * MS, 108 * MS, "b", host="other", kind=SERVER),
    ]
    traces = analyse(read(write(folder / "one.parquet", rows)))
    assert traces.clocks.to_pylist()[1] == {"host": "other", "offset_ms": 95.0, "pairs": 1}
