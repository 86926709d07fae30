"""What the channel to a machine costs: over a pipe, into an emulated host, over SSH (python -m bench channels).

25 idle replicas in control groups with limits, on one machine. *Limits*: one request for those of all 25. *Command*:
``true``, run there. *Watch*: CPU of the machine's node while it records the counters of all of them once a second,
sent every five. The way over SSH is the user's own client and a real sshd in an emulated host.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.common import Row, median_row, report
from loadstone.infrastructure.machines import Machine, close_all, connect
from loadstone.model.cluster import Reach
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs
from loadstone.model.records.node.replicas import Subject, WatchArgs
from tests.infrastructure.machines.ssh_hosts import ssh_hosts

REPLICAS = 25
ROUNDS, WATCHED_S = 200, 30.0
LIMITS_MS, WATCH_SHARE = 50.0, 0.5
"""Targets: over SSH; in percent of a core."""


@contextmanager
def replicas(machine: Machine) -> Iterator[dict[str, Subject]]:
    """Idle processes with limits, in groups of their own."""
    begun = machine.begin("bench-channels", "bench", "bench")
    try:
        names = [f"r-{number}" for number in range(REPLICAS)]
        for name in names:
            limits = NodeLimits(cpu=0.5, memory=64 << 20)
            argv = ("sleep", "3600")
            machine.spawn(SpawnArgs(deployment="bench-channels", name=name, argv=argv, limits=limits))
        yield {name: Subject(group=f"{begun.group}/{name}") for name in names}
    finally:
        machine.end("bench-channels")


def milliseconds(request: Callable[[], object]) -> list[float]:
    """How long each of the rounds takes, after some to warm up."""
    times_ms = []
    for _ in range(ROUNDS + 10):
        began = time.perf_counter()
        request()
        times_ms.append((time.perf_counter() - began) * 1000)
    return times_ms[10:]


def quantiles(metric: str, times_ms: list[float]) -> Row:
    """The median; low to high is the central 90 %."""
    parts = statistics.quantiles(times_ms, n=20)
    return replace(median_row(metric, "ms", times_ms), low=parts[0], high=parts[-1])


def measure(way: str, machine: Machine) -> list[Row]:
    """The rows of one way to a machine."""
    with replicas(machine) as subjects:
        limits = milliseconds(lambda: machine.read(["limits"], subjects))
        commands = milliseconds(lambda: machine.run(["true"]))
        pid, cores = machine.hello.pid, len(os.sched_getaffinity(0))
        shares = [watching(machine, subjects, pid) for _ in range(3)]
    read = quantiles(f"{way}: limits of {REPLICAS} replicas", limits)
    watch = median_row(f"{way}: a watch of {REPLICAS} replicas, every second ({cores} cores)", "% of a core", shares)
    return [
        replace(read, target=f"<= {LIMITS_MS:g} ms", holds=read.value <= LIMITS_MS),
        quantiles(f"{way}: a command", commands),
        replace(watch, target=f"<= {WATCH_SHARE:g} %", holds=watch.value <= WATCH_SHARE),
    ]


def watching(machine: Machine, subjects: dict[str, Subject], pid: int) -> float:
    """CPU of the node while it watches, in percent of a core."""
    watch = machine.watch(WatchArgs(period_ms=1000, replicas=subjects))
    before, began = cpu_s(pid), time.monotonic()
    time.sleep(WATCHED_S)
    used, elapsed = cpu_s(pid) - before, time.monotonic() - began
    watch.end()
    return 100 * used / elapsed


def cpu_s(pid: int) -> float:
    """What a process has used, over all of its threads."""
    threads = Path("/proc", str(pid), "task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in threads) / 1e9


def main() -> None:
    if shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin") is None:
        raise SystemExit("bench channels: needs openssh-server")
    with ExitStack() as stack:
        made = stack.enter_context(ssh_hosts(1))
        stack.callback(close_all)
        options = {"host": "worker-1", "config": str(made.config)}
        ways = {"pipe": Reach(), "SSH": Reach(transport="ssh", options=options)}
        rows = [row for way, reach in ways.items() for row in measure(way, connect("worker-1", reach))]
    report("channels", rows)


if __name__ == "__main__":
    main()
