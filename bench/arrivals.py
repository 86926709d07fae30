"""Whether requests arrive as they were meant to, by the server's clock; part of ``bench.load``.

``stone echo`` has one core, ``stone load`` another, 64 connections, 2000 requests/s. The kernel stamps the packets of
each request as they reach the server's socket (``SO_TIMESTAMPNS``), so that the server's own delays are not measured. A
Poisson process has exponential gaps and, in windows of any length, counts whose variance is their mean; clumps that a
generator makes by its timers show in windows about as long as they are.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.common import Row, free_port, median_row
from bench.generator import GeneratorBench
from loadstone.analysis.arrivals import dispersion, exponential_distance

RATE, ROUNDS, POISSON_S, CONSTANT_S = 2_000, 5, 60, 10
WINDOWS_MS = (1, 10, 100)

NOTES = [
    f"arrivals: {ROUNDS} rounds of {POISSON_S} s (constant {CONSTANT_S} s) at {RATE}/s, each with a seed of its own",
    f"KS: distance of the gaps from the exponential distribution of their mean; chance alone makes "
    f"{0.87 / (RATE * POISSON_S) ** 0.5:.4f}",
    "dispersion: variance of the counts by their mean; chance alone scatters that of a round by "
    + ", ".join(f"{(2 * ms / 1000 / POISSON_S) ** 0.5:.3f} ({ms} ms)" for ms in WINDOWS_MS),
]


def rows(bench: GeneratorBench) -> list[Row]:
    """How near to a Poisson process and to equal gaps the arrivals are, with the targets."""
    found: dict[str, list[float]] = defaultdict(list)
    for seed in range(1, ROUNDS + 1):
        poisson = arrivals(bench, POISSON_S, seed=seed)
        found["KS"].append(exponential_distance(np.diff(poisson)))
        for ms in WINDOWS_MS:
            found[f"{ms} ms"].append(dispersion(poisson, ms / 1000))
        gaps = np.diff(arrivals(bench, CONSTANT_S, seed=seed, arrival={"process": "constant", "rate": RATE}))
        found["constant"].append(float(gaps.std() / gaps.mean()))
        print(f"arrivals: round {seed} of {ROUNDS}", file=sys.stderr)
    at_most = [
        (f"Poisson at {RATE}/s: KS distance of the gaps", "KS", 0.035),
        (f"constant at {RATE}/s: coefficient of variation of the gaps", "constant", 0.35),
    ]
    limited = [
        replace(row, target=f"at most {limit}", holds=row.value <= limit)
        for name, key, limit in at_most
        for row in [median_row(name, "", found[key])]
    ]
    dispersed = [
        replace(row, target="1 +- 0.1", holds=abs(row.value - 1) <= 0.1)
        for ms in WINDOWS_MS
        for row in [median_row(f"Poisson at {RATE}/s: index of dispersion, {ms} ms", "", found[f"{ms} ms"])]
    ]
    return [limited[0], *dispersed, limited[1]]


def arrivals(bench: GeneratorBench, seconds: float, **keys: Any) -> NDArray[np.float64]:
    """When the requests of a run reached the server, in s from the first."""
    port, stamps = free_port(), bench.scratch / "stamps"
    command = [str(bench.stone), "echo", "--listen", f"127.0.0.1:{port}", "--stamps", str(stamps)]
    with bench.server(command, port):
        summary, _ = bench.run(port, RATE, seconds, **keys)
    sent = summary["counts"]["sent"]
    at = np.sort(np.loadtxt(stamps, dtype=np.int64))[-sent:]  # before them: the probe that waited for the server
    if len(at) < sent:
        raise SystemExit(f"{sent} requests were sent, and {len(at)} arrived")
    since_first: NDArray[np.float64] = (at - at[0]) / 1e9
    return since_first
