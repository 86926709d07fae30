"""What it costs to look inside: CPU per request when 1 % or all requests are traced; what recording counters uses.

Hotel Reservation and Social Network run as processes without limits at a rate far below their capacity; ``tracing.py``
has how the cost of spans is measured. A node (`stone node`) is measured while it records all replicas.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from bench import tracing
from bench.common import Row, build_stone, report
from bench.delays import RATE, delay_rows
from bench.orchestrators import state
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import make_plan
from loadstone.experiments.provisioning import infrastructure_of, provide
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.machines.here import Here
from loadstone.model.document import Document
from loadstone.model.records.node.replicas import Subject, WatchArgs

RATES = {"hotel-reservation": 300, "social-network": 200}
"""Requests per second of ``mixed`` by application."""
NODE = {1000: (0.005, 30.0), 100: (0.02, None)}
"""By period in ms: most of one core, and of memory in MB."""
NODE_S = 20.0


def main() -> None:
    build_stone()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, state(Path(folder)):
        rows += node(Path(folder) / "node")
        for application, rate in RATES.items():
            rows += tracing.rows(study(application, rate), rate, Path(folder) / application)
        rows += delay_rows(study("hotel-reservation", RATE), Path(folder) / "delay")
    notes = [
        f"adds: windows of {tracing.WINDOW_S:g} s in pairs, by turns within one deployment; low to high is the 95 % "
        "interval of the ratio",
    ]
    report("observing", rows, notes)


def study(application: str, rate: int, **settings: Any) -> dict[str, Any]:
    """A study as processes without limits; nothing is judged, so the objective is one that cannot be missed."""
    return {
        "version": 1,
        "name": "bench-observing",
        "application": application,
        "workload": "mixed",
        "scaling": "unlimited",
        "load": {"rates": [rate], "connections": 32, "slo": {"p99": "4s", "completed": "50%"}},
        **settings,
    }


def node(folder: Path) -> list[Row]:
    """What ``stone node`` uses while it records every replica of Hotel Reservation."""
    plan = make_plan(Document(yaml.safe_dump(study("hotel-reservation", 1)), "bench/observing"))
    infrastructure = infrastructure_of(plan.study.cluster, "bench-observing")
    provision = provide(plan.treatments[0], infrastructure, Listener())
    deployed = Deployed(plan.deployable(plan.treatments[0]), provision, "bench-observing", folder)
    deployed.start(Listener())
    try:
        replicas = {name: subject for name, (_, subject) in deployed.orchestrator.subjects().items()}
        return [row for period, limits in NODE.items() for row in _node_rows(replicas, period, *limits)]
    finally:
        deployed.remove()


def _node_rows(replicas: dict[str, Subject], period_ms: int, most_cpu: float, most_mb: float | None) -> list[Row]:
    machine = Machine("this machine", Here())
    try:
        process = machine.hello.pid
        watch = machine.watch(WatchArgs(period_ms=period_ms, replicas=replicas))
        before, began = _cpu_seconds(process), time.monotonic()
        time.sleep(NODE_S)
        share = (_cpu_seconds(process) - before) / (time.monotonic() - began)
        memory, own = _memory_mb(process, "VmRSS"), _memory_mb(process, "RssAnon")
        watch.end()
    finally:
        machine.close()
    title = f"node, {len(replicas)} replicas every {period_ms} ms: "
    rows = [Row(title + "CPU", "% of a core", 100 * share, target=f"below {most_cpu:.1%}", holds=share < most_cpu)]
    holds = None if most_mb is None else memory < most_mb
    rows.append(Row(title + "memory", "MB", memory, target=f"below {most_mb:g} MB" if most_mb else None, holds=holds))
    return [*rows, Row(title + "of which are not pages of its file", "MB", own)]


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process, from /proc/PID/stat (fields 14 and 15, in ticks)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int, what: str) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
