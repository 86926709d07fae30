"""What the load generator must bear: scripts, a million requests, ten thousand connections."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

from bench.common import ROOT, Row, median_row
from bench.generator import GeneratorBench
from loadstone.applications import catalogue
from loadstone.model.workload import operation_plan

SCRIPT = ROOT / "stone" / "load" / "script" / "testdata" / "hotel-mixed-workload.lua"
SCRIPT_RATE, SCRIPT_ROUNDS, SCRIPT_SECONDS = 5_000, 5, 4
MILLION_RATE, MILLION = 50_000, 1_000_000
MANY, MANY_SECONDS = 10_000, 5

NOTES = [
    "script and data: the published Hotel mix as a wrk2 script and as data, alternately; CPU of the load threads "
    "alone, as stone load measures it, in the window",
    "memory: the largest resident size of the whole process, its program included",
]


def rows(bench: GeneratorBench, port: int) -> list[Row]:
    """One row for each limit, with its target."""
    return [script(bench, port), *million(bench, port), many(bench, port)]


def script(bench: GeneratorBench, port: int) -> Row:
    """The sending threads' CPU with a Lua mix, beside the same mix as data."""
    workload = catalogue.load("hotel-reservation").application.workloads["mixed"]
    data = [operation_plan(name, operation) for name, operation in workload.operations.items()]
    scripted: dict[str, Any] = {"operations": None, "script": {"path": str(SCRIPT)}}
    costs: dict[str, list[float]] = {"script": [], "data": []}
    for _ in range(SCRIPT_ROUNDS):
        for name, keys in (("script", scripted), ("data", {"operations": data})):
            summary, _ = bench.run(port, SCRIPT_RATE, SCRIPT_SECONDS, **keys)
            costs[name].append(summary["generator"]["sending_us_per_request"])
    row = median_row(f"CPU of the load threads per request, Lua mix, {SCRIPT_RATE}/s", "us", costs["script"])
    theirs = statistics.median(costs["data"])
    ratio = row.value / theirs
    return replace(row, peer="as data", peer_value=theirs, ratio=ratio, target="at most 1.1 x data", holds=ratio <= 1.1)


def million(bench: GeneratorBench, port: int) -> list[Row]:
    """The memory of a run of a million requests, beside that of a hundredth of it."""
    peaks = []
    for requests in (MILLION // 100, MILLION):
        summary, usage = bench.run(port, MILLION_RATE, requests / MILLION_RATE)
        assert abs(summary["planned"] - requests) < 0.02 * requests
        peaks.append(usage.ru_maxrss / 1024)
    short, long = peaks
    name = f"memory, {MILLION} requests"
    return [
        Row(name, "MB", long, peer=f"{MILLION // 100} requests", peer_value=short, ratio=long / short,
            target="under 64 MB", holds=long < 64),
    ]  # fmt: skip


def many(bench: GeneratorBench, port: int) -> Row:
    """Requests completed over ten thousand connections."""
    summary, _ = bench.run(
        port, MANY, MANY_SECONDS, connections=MANY, timeout_s=30, arrival={"process": "constant", "rate": MANY}
    )
    counts = summary["counts"]
    share = 100 * counts["completed"] / counts["offered"]
    return Row(
        f"completed over {MANY} connections, {MANY}/s",
        "%",
        share,
        target="all",
        holds=counts["completed"] == counts["offered"],
    )
