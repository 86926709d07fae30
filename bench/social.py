"""What a request of Social Network costs, by operation and service; how long seeding takes; what memory it idles in.

The application runs as processes without limits, with the small graph and its posts. Each operation is offered alone at
a rate far below its capacity; CPU is what the services' control groups count in the measured window, by completed
request. What RPCs cost is everything behind the front end: services, caches, stores.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from bench.common import ROOT, Row, build_stone, median_row, report
from bench.orchestrators import state
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.provisioning import infrastructure_of, provide
from loadstone.model.document import Document

RATES = {
    "read-home-timeline": 200,
    "read-user-timeline": 200,
    "compose-post": 100,
    "mixed": 200,
    "login": 100,
    "follow": 100,
    "register": 10,
}
"""Requests per second by workload; registering hashes a password, which is meant to be slow."""
ROUNDS = 3
SERVICES_SHOWN = 0.03
"""A service with a smaller share of an operation's CPU has no row."""


def load(rate: int) -> dict[str, Any]:
    """A load to measure at; nothing is judged, so the objective is one that cannot be missed."""
    return {"rates": [rate], "connections": 32, "slo": {"p99": "4s", "completed": "50%"}}


def study(**settings: Any) -> dict[str, Any]:
    """A study of Social Network as processes without limits."""
    return {
        "version": 1,
        "name": "bench-social",
        "application": "social-network",
        "scaling": "unlimited",
        "load": load(1),
        **settings,
    }


def main() -> None:
    build_stone()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, state(Path(folder)):
        for dataset, limit in (("small", 30.0), ("twitter", 900.0)):
            rows += seeding(dataset, limit, Path(folder) / dataset)
        for workload, rate in RATES.items():
            rows += operation(workload, rate, Path(folder) / workload)
    report("social", rows, ["CPU: user and system, of all replicas of a service, per completed request."])


def seeding(dataset: str, limit: float, folder: Path) -> list[Row]:
    """Seconds to fill and verify, to restore and to be ready, and the memory of what then waits for requests."""
    plan = make_plan(Document(yaml.safe_dump(study(dataset=dataset)), "bench/social"))
    started = time.monotonic()
    watch = _Watch()
    deployed = _deploy(plan, folder, watch)
    try:
        whole = time.monotonic() - started
        filled = watch.seconds("seeding")
        started = time.monotonic()
        deployed.seeder.reset()
        restored = time.monotonic() - started
        used = deployed.orchestrator.usage()
        stone = sum(used[replica.name].memory for replica in deployed.deployment.replicas if replica.stone) / 2**20
    finally:
        deployed.remove()
    target = f"at most {limit:g} s"
    rows = [
        Row(f"{dataset}: filled and verified", "s", filled, target=target, holds=filled <= limit),
        Row(f"{dataset}: brought back before a trial", "s", restored),
    ]
    if dataset == "small":
        started_in = whole - filled
        rows += [
            Row("all services ready, without seeding", "s", started_in, target="at most 20 s", holds=started_in <= 20),
            Row("idle memory of 13 services", "MiB", stone, target="below 400 MB", holds=stone * 2**20 < 400e6),
        ]
    return rows


class _Watch(Listener):
    """Remembers when each step began."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, float]] = []

    def step(self, text: str) -> None:
        self._begun.append((text.partition(":")[0], time.monotonic()))

    def seconds(self, step: str) -> float:
        """From the step's beginning to that of the next other one."""
        begun = next(at for name, at in self._begun if name == step)
        return next(at for name, at in self._begun if at > begun and name != step) - begun


def _deploy(plan: Plan, folder: Path, listener: Listener) -> Deployed:
    infrastructure = infrastructure_of(plan.study.cluster, "bench-social")
    provision = provide(plan.treatments[0], infrastructure, listener)
    deployed = Deployed(plan.deployable(plan.treatments[0]), provision, "bench-social", folder)
    deployed.start(listener)
    return deployed


def operation(workload: str, rate: int, folder: Path) -> list[Row]:
    """CPU per request of one workload, in all and by service, from trials of ``loadstone run``."""
    folder.mkdir()
    file = folder / "study.yaml"
    wanted = study(
        dataset="small-with-posts",
        workload=workload,
        load=load(rate),
        trial={"warmup": "2s", "duration": "8s", "repetitions": ROUNDS, "reset": "per-trial"},
    )
    file.write_text(yaml.safe_dump(wanted))
    command = [str(ROOT / ".venv/bin/loadstone"), "run", str(file), "--results", str(folder / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    costs = [_cost(trial) for trial in sorted(folder.glob("results/*/*/trials/*"))]
    valid = [cost for cost in costs if cost is not None]
    if not valid:
        raise SystemExit(f"{workload}: no valid trial\n{done.stdout}{done.stderr}")
    totals = [sum(cost.values()) for cost in valid]
    behind = [total - cost["frontend"] for total, cost in zip(totals, valid, strict=True)]
    added = statistics.median(cost["frontend"] / cost_behind for cost, cost_behind in zip(valid, behind, strict=True))
    rows = [median_row(f"{workload} at {rate}/s: CPU of all services", "us/request", totals)]
    rows.append(
        Row(
            f"{workload}: front end",
            "us/request",
            statistics.median(cost["frontend"] for cost in valid),
            min(cost["frontend"] for cost in valid),
            max(cost["frontend"] for cost in valid),
            "what its RPCs cost",
            statistics.median(behind),
            added,
            "adds at most 20 %",
            added <= 0.2,
        )
    )
    services = sorted(valid[0], key=lambda name: -valid[0][name])
    for name in services:
        spent = [cost.get(name, 0.0) for cost in valid]
        if name != "frontend" and statistics.median(spent) >= SERVICES_SHOWN * statistics.median(totals):
            rows.append(median_row(f"{workload}: {name}", "us/request", spent))
    return rows


def _cost(trial: Path) -> dict[str, float] | None:
    """Microseconds of CPU per completed request by service; None for an invalid trial."""
    result = json.loads((trial / "trial.json").read_text())
    if result["verdict"]["verdict"] == "invalid":
        return None
    completed = result["row"]["completed"]
    cost: dict[str, float] = defaultdict(float)
    for row in json.loads((trial / "usage.json").read_text()):
        cost[row["service"]] += 1e6 * row["cpu_s"] / completed
    return dict(cost)


if __name__ == "__main__":
    main()
