"""The load generator beside its peers and limits: CPU, lateness, truth, memory, arrivals (python -m bench load).

All drive NGINX returning 2 bytes, NGINX on one core and the generator on another, 64 connections, alternately in the
same run, and every target is a ratio to a peer or a limit of that run: cores of one kind of machine differ by four
times. The limits are ``stone/load/bare``: a minimal loop over epoll, which records nothing, and a thread that only
wakes when requests are due. Its loop over io_uring shows what that interface would save. CPU is user and system time
of the whole process (``wait4``), from its start to its end. *Saturated* means for ``stone load`` an offered rate far
above what one core can send (there is always a request due, so each connection sends again as soon as it is answered),
for the closed-loop peers what they always do.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import arrivals, limits, truths
from bench.common import Row, build_stone, median_row, report
from bench.generator import CONNECTIONS, SECONDS, GeneratorBench, Spent, nginx
from bench.kernel_calls import counting
from bench.peers import EPOLL, URING, Peer, peers, timer_late_ms

ROUNDS = 7
OURS = "stone"
FAR_ABOVE = 250_000


@dataclass(frozen=True)
class Setting:
    """One way to drive: a name, the rate, further keys of the plan, and the target of ours there."""

    name: str
    rate: int | None
    keys: dict[str, Any] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    """By peer: the largest ratio of our CPU per request to theirs."""
    most_late: float | None = None
    """The largest ratio of our P99 lateness to a bare timer's."""


SETTINGS = (
    Setting("5000/s", 5_000, most={"oha": 1.0}),
    Setting("5000/s, precise", 5_000, {"wait": "precise"}, most_late=2.0),
    Setting("20000/s", 20_000, most={"oha": 0.8}, most_late=2.0),
    Setting(
        "saturated",
        None,
        {"arrival": {"process": "constant", "rate": FAR_ABOVE}, "drain_s": 0, "timeout_s": 60},
        {"wrk": 0.9, EPOLL: 1.1},
    ),
)


Found = dict[tuple[str, str], list[float]]
"""What rounds measured, by generator and setting."""


@dataclass
class Rounds:
    """What the rounds measured: CPU in us, context switches and system calls per request, lateness in ms."""

    cpu: Found = field(default_factory=lambda: defaultdict(list))
    switches: Found = field(default_factory=lambda: defaultdict(list))
    calls: Found = field(default_factory=lambda: defaultdict(list))
    late: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By setting and percentile."""
    timer: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    throughput: list[float] = field(default_factory=list)

    def note(self, name: str, setting: str, spent: Spent) -> None:
        self.cpu[name, setting].append(spent.cpu_us)
        self.switches[name, setting].append(spent.switches)


def cost(bench: GeneratorBench, port: int, others: dict[str, Peer], notes: list[str]) -> list[Row]:
    """What a request costs everyone, and our lateness; at fixed rates and saturated, alternately."""
    rounds = Rounds()
    for number in range(ROUNDS):
        for at in SETTINGS:
            measure(bench, port, at, others, rounds)
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    if counter := counting(bench, notes):
        for at in SETTINGS:
            rounds.calls[OURS, at.name].append(counter.per_request(ours(counter, port, at)[1]))
            for name in compared(at, others):
                rounds.calls[name, at.name].append(counter.per_request(others[name](counter, port, at.rate)))
    rows = [row for at in SETTINGS for row in rows_of(at, others, rounds)]
    if URING in others:
        rows.append(io_uring(rounds))
    return [*rows, median_row("throughput, saturated", "req/s", rounds.throughput)]


def compared(at: Setting, others: dict[str, Peer]) -> list[str]:
    """The peers that can run at this setting: none waits precisely, and wrk has no rate."""
    return [] if "wait" in at.keys else [name for name in others if at.rate is None or name != "wrk"]


def ours(bench: GeneratorBench, port: int, at: Setting) -> tuple[dict[str, Any], Spent]:
    """Run ``stone load`` at this setting; its summary and what its requests took."""
    summary, usage = bench.run(port, at.rate or 0, SECONDS, **at.keys)
    return summary, Spent(summary["counts"]["sent"], usage)


def measure(bench: GeneratorBench, port: int, at: Setting, others: dict[str, Peer], rounds: Rounds) -> None:
    summary, spent = ours(bench, port, at)
    rounds.note(OURS, at.name, spent)
    rounds.late[at.name, "P50"].append(summary["latency_ms"]["lateness"]["p50"])
    rounds.late[at.name, "P99"].append(summary["latency_ms"]["lateness"]["p99"])
    rounds.late[at.name, "own"].append(summary["generator"]["own_lateness_p99_ms"])
    if at.rate is None:
        rounds.throughput.append(summary["throughput"])
    elif at.most_late is not None:
        rounds.timer[at.name].append(timer_late_ms(bench, at.rate))
    for name in compared(at, others):
        rounds.note(name, at.name, others[name](bench, port, at.rate))


def rows_of(at: Setting, others: dict[str, Peer], rounds: Rounds) -> Iterator[Row]:
    yield from beside(f"CPU per request, {at.name}", "us", at, rounds.cpu, at.most)
    yield from beside(f"context switches per request, {at.name}", "", at, rounds.switches, {})
    yield from beside(f"system calls per request, {at.name}", "", at, rounds.calls, {})
    if at.rate is None:
        return
    yield median_row(f"send lateness P50, {at.name}", "ms", rounds.late[at.name, "P50"])
    late = median_row(f"send lateness P99, {at.name}", "ms", rounds.late[at.name, "P99"])
    yield late if at.most_late is None else against(late, "bare timer", rounds.timer[at.name], at.most_late)
    yield median_row(f"its own part of that P99, {at.name}", "ms", rounds.late[at.name, "own"])


def beside(metric: str, unit: str, at: Setting, found: Found, most: dict[str, float]) -> Iterator[Row]:
    """One quantity of ours beside that of each peer; nothing where it was not measured."""
    by_name = {name: values for (name, setting), values in found.items() if setting == at.name}
    if OURS not in by_name:
        return
    row = median_row(metric, unit, by_name.pop(OURS))
    if not by_name:
        yield row
    for name, values in by_name.items():
        yield against(row, name, values, most.get(name))


def io_uring(rounds: Rounds) -> Row:
    """What io_uring saves where a loop does nothing but send and receive: the most that it could save ours."""
    row = median_row("CPU per request of a bare io_uring loop, saturated", "us", rounds.cpu[URING, "saturated"])
    return against(row, EPOLL, rounds.cpu[EPOLL, "saturated"], None)


def against(ours: Row, peer: str, rounds: list[float], most: float | None) -> Row:
    """A row beside the median of a peer's rounds, and the largest ratio that is required."""
    theirs = statistics.median(rounds)
    row = replace(ours, peer=peer, peer_value=theirs, ratio=ours.value / theirs)
    if most is None:
        return row
    return replace(row, target=f"at most {most:g} x {peer}", holds=ours.value / theirs <= most)


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
        "epoll loop, io_uring loop, bare timer: stone/load/bare, in Go, with one thread; Poisson arrivals at a rate",
        *limits.NOTES,
        *arrivals.NOTES,
    ]
    with tempfile.TemporaryDirectory() as folder:
        bench = GeneratorBench(build_stone(), Path(folder), cpus[0], cpus[1])
        with nginx(bench) as (port, server):
            rows = cost(bench, port, peers(notes), notes)
            rows.append(truths.stall(bench, port, server))
            rows += limits.rows(bench, port)
        rows += truths.overload(bench)
        rows += arrivals.rows(bench)
    report("load", rows, notes)


if __name__ == "__main__":
    main()
