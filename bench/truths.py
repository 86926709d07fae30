"""The load generator's results for a server of known behaviour, with the true values."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime

import numpy as np

from bench.common import Row, free_port, median_row
from bench.generator import GeneratorBench, identity
from loadstone.analysis.percentiles import of_sorted

STALL_S, STALL_RATE, STALL_WINDOW_S = 0.5, 1_000, 10
CAPACITY, OVERLOAD_S = 500, 5


def stall(bench: GeneratorBench, port: int, nginx: subprocess.Popen[bytes]) -> Row:
    """A server that stops for 500 ms in a window of 10 s: the worst 1 % are those meant for its first 100 ms."""
    errors = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            time.sleep(STALL_WINDOW_S / 2)
            os.kill(nginx.pid, signal.SIGSTOP)
            time.sleep(STALL_S)
            os.kill(nginx.pid, signal.SIGCONT)
            os._exit(0)
        summary, _ = bench.run(port, 0, STALL_WINDOW_S, arrival={"process": "constant", "rate": STALL_RATE})
        os.waitpid(child, 0)
        errors.append(summary["latency_ms"]["intended"]["p99"])
    true = (STALL_S - STALL_WINDOW_S / 100) * 1000
    row = median_row("P99 with a server stall of 500 ms at 1000/s", "ms", errors)
    ratio = row.value / true
    holds = abs(ratio - 1) <= 0.02
    return replace(row, peer="truth", peer_value=true, ratio=ratio, target="within 2 % of 400 ms", holds=holds)


def overload(bench: GeneratorBench) -> list[Row]:
    """Twice the capacity of a paced server; truth is the server's own record of every answer against the schedule."""
    port, log = free_port(), bench.scratch / "answers"
    with bench.server([sys.executable, "-m", "bench.paced", str(port), str(CAPACITY), str(log)], port):
        rate = 2 * CAPACITY
        keys = {"arrival": {"process": "constant", "rate": rate}, "timeout_s": 60, "drain_s": 60}
        summary, _ = bench.run(port, 0, OVERLOAD_S, **keys)
    planned = rate * OVERLOAD_S
    answers = np.loadtxt(log)[-planned:]  # before them: the probe that waited for the server
    started = datetime.fromisoformat(summary["started"]).timestamp()
    latencies = (answers - started - np.arange(planned) / rate) * 1000  # first come, first served: k-th is k-th
    counts, intended = summary["counts"], summary["latency_ms"]["intended"]
    whole = identity(counts) and counts["offered"] == counts["completed"] == planned
    rows = [Row("overload: requests accounted for", f"of {planned}", counts["completed"], target="all", holds=whole)]
    for name, share in (("p50", 50), ("p99", 99)):
        true = float(of_sorted(np.sort(latencies), [share])[0])
        ratio = intended[name] / true
        rows.append(Row(
            f"overload: {name.upper()} at twice the capacity", "ms", intended[name], peer="truth", peer_value=true,
            ratio=ratio, target="within 5 %", holds=abs(ratio - 1) <= 0.05,
        ))  # fmt: skip
    return rows
