"""The load generator beside its peers and limits: CPU, lateness, truth, memory, arrivals (python -m bench.load).

All drive NGINX returning 2 bytes, NGINX on one core and the generator on another, 64 connections, alternately in the
same run. CPU is user and system time of the whole process (``wait4``), from its start to its end. *Saturated* means for
``stone load`` an offered rate far above what one core can send (there is always a request due, so each connection sends
again as soon as it is answered), for the closed-loop peers what they always do.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import arrivals, limits, truths
from bench.common import Row, build_stone, median_row, report
from bench.generator import CONNECTIONS, SECONDS, Bench, nginx
from bench.peers import Peer, peers

ROUNDS = 7
FAR_ABOVE = 250_000


@dataclass(frozen=True)
class Setting:
    """One way to drive: a name, what the plan says of it, and what is asked of ours there."""

    name: str
    rate: int | None
    keys: dict[str, Any] = field(default_factory=dict)
    most_us: float | None = None
    most_late_ms: float | None = None


SETTINGS = (
    Setting("5000/s", 5_000),
    Setting("5000/s, precise", 5_000, {"wait": "precise"}, most_late_ms=0.1),
    Setting("20000/s", 20_000, most_us=12, most_late_ms=0.3),
    Setting(
        "saturated", None, {"arrival": {"process": "constant", "rate": FAR_ABOVE}, "drain_s": 0, "timeout_s": 60}, 6
    ),
)


def cost(bench: Bench, port: int, others: dict[str, Peer]) -> list[Row]:
    """CPU per request of everyone and our lateness, at fixed rates and saturated, alternately."""
    cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
    late: dict[tuple[str, str], list[float]] = defaultdict(list)
    throughput: list[float] = []
    for number in range(ROUNDS):
        for at in SETTINGS:
            summary, used = bench.load(port, at.rate or 0, SECONDS, **at.keys)
            cpu["stone", at.name].append(used * 1e6 / summary["counts"]["sent"])
            late[at.name, "P50"].append(summary["latency_ms"]["lateness"]["p50"])
            late[at.name, "P99"].append(summary["latency_ms"]["lateness"]["p99"])
            late[at.name, "own"].append(summary["generator"]["own_lateness_p99_ms"])
            if at.rate is None:
                throughput.append(summary["throughput"])
            for name, peer in others.items():
                if "wait" not in at.keys and (at.rate is None or name != "wrk"):  # wrk has no rate
                    cpu[name, at.name].append(peer(bench, port, at.rate))
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    rows = []
    for at in SETTINGS:
        ours = median_row(f"CPU per request, {at.name}", "us", cpu["stone", at.name])
        rows.append(bounded(ours, at.most_us))
        for name in others:
            if cpu[name, at.name]:
                rows.append(against(ours, name, cpu[name, at.name]))
        if at.rate is not None:
            rows.append(median_row(f"send lateness P50, {at.name}", "ms", late[at.name, "P50"]))
            rows.append(
                bounded(median_row(f"send lateness P99, {at.name}", "ms", late[at.name, "P99"]), at.most_late_ms)
            )
            rows.append(median_row(f"its own part of that P99, {at.name}", "ms", late[at.name, "own"]))
    rows.append(median_row("throughput, saturated", "req/s", throughput))
    return rows


def bounded(row: Row, most: float | None) -> Row:
    if most is None:
        return row
    return replace(row, target=f"at most {most:g} {row.unit}", holds=row.value <= most)


def against(ours: Row, peer: str, rounds: list[float]) -> Row:
    theirs = statistics.median(rounds)
    row = replace(ours, peer=peer, peer_value=theirs, ratio=ours.value / theirs)
    if peer != "wrk":
        return row
    return replace(row, target="at most 0.9 x wrk", holds=ours.value / theirs <= 0.9)


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or shutil.which("nginx") is None:
        raise SystemExit("needs two cores and nginx (apt install nginx-light)")
    notes = [
        f"{ROUNDS} rounds of {SECONDS} s, alternately; median, lowest, highest; {CONNECTIONS} connections, server and "
        "generator on one core each of a machine that others may use too",
        f"saturated: stone load with threads 1 and {FAR_ABOVE}/s offered; wrk, hey and oha in a closed loop",
        "its own part: from the intended time or the moment a connection was free, whichever is later",
        "hey -q and oha -q --latency-correction at a rate; wrk has no rate; none of them reports its lateness",
        *limits.NOTES,
        *arrivals.NOTES,
    ]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(build_stone(), Path(folder), cpus[0], cpus[1])
        with nginx(bench) as (port, server):
            rows = cost(bench, port, peers(notes))
            rows.append(truths.stall(bench, port, server))
            rows += limits.rows(bench, port)
        rows += truths.overload(bench)
        rows += arrivals.rows(bench)
    report("load", rows, notes)


if __name__ == "__main__":
    main()
