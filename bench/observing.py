"""What it costs to look inside: CPU per request when none, 1 % or all requests are traced; what the agent uses.

Hotel Reservation and Social Network run as processes without limits at a rate far below their capacity, each trial in
turn untraced, sampled and traced whole; CPU is what the services' control groups count in the measured window, of
services and stores, by completed request. Tracing that is off installs nothing, so that between pairs of such trials
there is only noise: less than that is not known. The agent is measured while it records all replicas.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests
import yaml

from bench.common import ROOT, Row, build_stone, report
from bench.delays import RATE, delay_rows
from bench.orchestrators import state
from loadstone.experiments.deployed import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import make_plan
from loadstone.experiments.provisioning import infrastructure_of, provide
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.document import Document

RATES = {"hotel-reservation": 300, "social-network": 200}
"""Requests per second of ``mixed`` by application."""
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "6"))
WINDOW_S = 10
LEVELS = {"none": "off", "sample:1%": {"sample": 0.01}, "sample:100%": {"sample": 1}}
LIMITS = {"sample:1%": 0.02, "sample:100%": 0.15}
"""Most that a share of requests may add to the CPU of a request."""
AGENT = {1000: (0.005, 30.0), 100: (0.02, None)}
"""By period in ms: most of one core, and of memory in MB."""
AGENT_S = 20.0


def main() -> None:
    build_stone()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, state(Path(folder)):
        rows += agent(Path(folder) / "agent")
        for application, rate in RATES.items():
            rows += application_rows(application, rate, Path(folder) / application)
        rows += delay_rows(study("hotel-reservation", RATE), Path(folder) / "delay")
    notes = [
        f"CPU: user and system of all replicas, in {ROUNDS} rounds; ratios are of trials of the same round.",
        "spans lost: those that services made and no file has.",
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


def application_rows(application: str, rate: int, folder: Path) -> list[Row]:
    """The rows of one application: noise, then what each share of requests adds."""
    folder.mkdir()
    file = folder / "study.yaml"
    trial = {"warmup": "2s", "duration": f"{WINDOW_S}s", "repetitions": ROUNDS, "order": "interleaved"}
    file.write_text(yaml.safe_dump(study(application, rate, factors={"traces": list(LEVELS.values())}, trial=trial)))
    command = [str(ROOT / ".venv/bin/loadstone"), "run", str(file), "--results", str(folder / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    costs: dict[str, dict[int, float]] = defaultdict(dict)
    lost = spans = 0
    for path in sorted(folder.glob("results/*/*/trials/*")):
        row = json.loads((path / "trial.json").read_text())["row"]
        if row["verdict"] != "held":  # a machine that is too busy for the rate
            continue
        used = sum(one["cpu_s"] for one in json.loads((path / "usage.json").read_text()))
        costs[row["factor_traces"]][row["repetition"]] = 1e6 * used / row["completed"]
        spans, lost = spans + (row.get("spans") or 0), lost + (row.get("spans_lost") or 0)
    off = costs["none"]
    title = f"{application} at {rate}/s: "
    rows = []
    if len(off) > 1:
        ordered = [off[number] for number in sorted(off)]
        noise = [math.exp(abs(math.log(b / a))) - 1 for a, b in zip(ordered[::2], ordered[1::2], strict=False)]
        rows.append(Row(title + "two trials that are not traced differ by", "%", *_percent(noise)))
    for level, limit in LIMITS.items():
        pairs = [(costs[level][number], off[number]) for number in off if number in costs[level]]
        if not pairs:
            raise SystemExit(f"{application}: no valid pair with {level}\n{done.stdout}{done.stderr}")
        added = [traced / untraced - 1 for traced, untraced in pairs]
        median, low, high = _percent(added)
        name = f"{title}tracing {level.partition(':')[2]} of requests adds"
        rows.append(
            Row(name, "% CPU", median, low, high, None, None, None, f"at most {limit:.0%}", median <= 100 * limit)
        )
        rows.append(_beside(title, level, pairs))
    rows.append(Row(f"{title}spans lost of {spans:,}", "spans", lost, target="none", holds=lost == 0))
    return rows


def _percent(shares: Sequence[float]) -> tuple[float, float, float]:
    return 100 * statistics.median(shares), 100 * min(shares), 100 * max(shares)


def _beside(title: str, level: str, pairs: Sequence[tuple[float, float]]) -> Row:
    traced, untraced = [one for one, _ in pairs], [other for _, other in pairs]
    return Row(
        f"{title}CPU, {level.partition(':')[2]} traced",
        "us/request",
        statistics.median(traced),
        min(traced),
        max(traced),
        "not traced",
        statistics.median(untraced),
        statistics.median(one / other for one, other in pairs),
    )


def agent(folder: Path) -> list[Row]:
    """What ``stone agent`` uses while it records every replica of Hotel Reservation."""
    plan = make_plan(Document(yaml.safe_dump(study("hotel-reservation", 1)), "bench/observing"))
    infrastructure = infrastructure_of(plan, "bench-observing")
    provision = provide(plan, plan.treatments[0], infrastructure, Listener())
    deployed = Deployed(plan, plan.treatments[0], provision, "bench-observing", folder)
    deployed.start(Listener())
    try:
        replicas = {name: how for name, (_, how) in deployed.orchestrator.recordable().items()}
        return [row for period, limits in AGENT.items() for row in _agent_rows(replicas, period, *limits)]
    finally:
        deployed.remove()


def _agent_rows(
    replicas: dict[str, dict[str, str]], period_ms: int, most_cpu: float, most_mb: float | None
) -> list[Row]:
    command = [str(stone_binary()), "agent", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://{process.stdout.readline().split()[-1]}/recordings"
            session = requests.Session()
            session.trust_env = False
            session.post(url, json={"period_ms": period_ms, "replicas": replicas}, timeout=30).raise_for_status()
            before, began = _cpu_seconds(process.pid), time.monotonic()
            time.sleep(AGENT_S)
            share = (_cpu_seconds(process.pid) - before) / (time.monotonic() - began)
            memory, own = _memory_mb(process.pid, "VmRSS"), _memory_mb(process.pid, "RssAnon")
        finally:
            process.terminate()
    title = f"agent, {len(replicas)} replicas every {period_ms} ms: "
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
