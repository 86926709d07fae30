"""Layers that touch nothing, for tests of the conductor: a server of known capacity behind the abstract classes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

import loadstone
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.infrastructure.base import Access, Finding, Infrastructure, Provision, Say
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.summary import TrialSummary
from loadstone.orchestration.base import Orchestrator
from loadstone.workloads.base import Driver, Offer, Progress


def provenance(nodes: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Where a run comes from, without facts of this host: there is no ``stone`` that would read them."""
    return {"loadstone": loadstone.__version__, "software": {}, "host": {}, "nodes": list(nodes), "warnings": []}


APPLICATION = """\
name: tiny
entry: {service: web, port: http}
services:
  web: {tier: frontend, runs: {stone: hotel/frontend}, ports: {http: 5000}}
workloads:
  get: {operations: {get: {path: /}}}
default_workload: get
"""

SEEDED = APPLICATION.replace("{get: {path: /}}", '{get: {path: "/{user}", fields: {user: {kind: seeded, of: users}}}}')
SEEDED += """\
seeding: social
default_dataset: small
datasets:
  small: {description: some, users: 962, edges: 18812}
  large: {users: 81306, edges: 1768149}
"""

STUDY = """\
version: 1
name: tiny-study
application: ./application.yaml
factors: {scaling: [baseline, unlimited]}
load: {rates: [100, 200, 300], slo: {p99: 50ms}}
metrics: off
trial: {warmup: 0s, duration: 1s, repetitions: 2}
"""

SEARCH = STUDY.replace("rates: [100, 200, 300], slo: {p99: 50ms}", "capacity: {slo: {p99: 50ms}, start: 100}").replace(
    "repetitions: 2", "repetitions: 1"
)
CLOSED = STUDY.replace("rates: [100, 200, 300], slo: {p99: 50ms}", "closed: {clients: [1, 5, 20], think: 10ms}")


Conduct = Callable[..., Path]
Begin = Callable[..., tuple[Plan, Ledger]]
"""Begins a run of a study by its text, and conducts no trial of it."""
"""Runs a study with fake layers, a driver and an infrastructure if they are given; returns its run folder."""


def write_study(folder: Path, text: str = STUDY) -> Path:
    """A study file with its application beside it."""
    (folder / "application.yaml").write_text(APPLICATION)
    study = folder / "study.yaml"
    study.write_text(text)
    return study


class FakeInfrastructure(Infrastructure):
    """One client and one worker; counts how often its nodes were given back."""

    name = "fake"
    software = frozenset({"process"})
    released = 0
    provided: ClassVar[list[tuple[str, int]]] = []
    lost: ClassVar[list[str]] = []
    """Nodes that stopped working; a new cluster has none."""
    access: ClassVar[Access | None] = None

    def preflight(self, software: str, managers: int) -> list[Finding]:
        return []

    def sketch(self, software: str, managers: int) -> list[Node]:
        return [
            Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**33),
            Node(name="worker", role="worker", address="127.0.0.1", cpus=(1,), memory=2**33),
        ]

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        type(self).provided.append((software, managers))
        type(self).lost.clear()
        return Provision(tuple(self.sketch(software, managers)), self.access)

    def release(self) -> None:
        type(self).released += 1

    def problems(self) -> list[str]:
        return list(type(self).lost)


class FakeOrchestrator(Orchestrator):
    """Keeps account of what is applied; ``wrong`` rows and ``dying`` events are set by tests."""

    name = "process"
    software = "process"
    environments = ("bare",)
    beside_others = True
    running: ClassVar[set[str]] = set()
    applied: ClassVar[list[str]] = []
    removed: ClassVar[list[str]] = []
    wrong: ClassVar[list[AuditRow]] = []
    died: ClassVar[list[str]] = []
    fails: ClassVar[int] = 0
    logless: ClassVar[list[str]] = []
    silent: ClassVar[bool] = False

    @classmethod
    def reset(cls) -> None:
        cls.logless, cls.silent = [], False
        cls.running, cls.applied, cls.removed, cls.wrong, cls.died, cls.fails = set(), [], [], [], [], 0

    def preflight(self) -> list[Finding]:
        return []

    def render(self) -> dict[str, str]:
        return {"fake.txt": self.deployment.name}

    def apply(self, stores_only: bool = False) -> None:
        type(self).running.add(self.deployment.name)
        if not stores_only:
            type(self).applied.append(self.deployment.name)

    def ready(self, stores_only: bool = False) -> None:
        if type(self).fails > 0:
            type(self).fails -= 1
            raise DeploymentError("web-1 is not ready: it refused")

    def addresses(self, service: str, port: str) -> list[str]:
        return ["127.0.0.1:5000"]

    def audit(self) -> list[AuditRow]:
        return list(type(self).wrong)

    def events(self) -> list[str]:
        return list(type(self).died)

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str | None]:
        if type(self).silent:
            raise DeploymentError("the cluster cannot be queried")
        return {"web-1": "a log line"} | dict.fromkeys(type(self).logless)

    def remove(self) -> None:
        type(self).removed.append(self.deployment.name)
        type(self).running.discard(self.deployment.name)
        type(self).died.clear()


class Managed(FakeOrchestrator):
    """Has managers, so that high availability is another cluster."""

    name = "swarm"
    software = "swarm"
    managed = True
    environments = ("container",)


class FakeDriver(Driver):
    """A server that holds up to ``capacity``; the trial's seed makes its noise, so equal trials are equal."""

    name = "fake"

    def __init__(self, capacity: float = 250.0) -> None:
        self.capacity = capacity
        self.ran: list[str] = []
        self.raises: dict[int, BaseException] = {}

    def version(self) -> str:
        return "fake 1"

    def reference_ms(self) -> float | None:
        return 4.0 + 0.25 * len(self.ran)

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        self.ran.append(offer.folder.name)
        if error := self.raises.get(len(self.ran)):
            raise error
        closed = offer.load.closed
        if offer.clients is not None and closed is not None and closed.requests is not None:
            made = iterations(offer.clients, closed.requests, closed.iterations)
            pq.write_table(pa.Table.from_pylist(made), offer.folder / "iterations.parquet")
            durations = [row["duration_s"] for row in made]
            answered = summary(100.0 * offer.clients, sum(durations) / offer.clients, held=True)
            found = {"count": len(made), "total_s": sum(durations), "mean_s": mean(durations), "sd_s": stdev(durations)}
            return TrialSummary.model_validate(answered | {"loop": "closed", "batches": [], "iterations": found})
        if offer.clients is not None:
            answered = summary(100.0 * offer.clients, offer.duration_s, held=True)
            return TrialSummary.model_validate(answered | {"loop": "closed"})
        noise = random.Random(offer.seed).gauss(1, 0.02)
        held = offer.rate < self.capacity * noise
        return TrialSummary.model_validate(summary(offer.rate, offer.duration_s, held))


def iterations(clients: int, requests: int, count: int) -> list[dict[str, Any]]:
    """What clients took: the second client 10 % longer than the first, and so on, and each iteration 1 s longer."""
    return [
        {"client": client, "iteration": number, "start_s": 0.0, "requests": requests, "errors": 0, "mean_ms": 2.0}
        | {"duration_s": clients * (1 + 0.1 * (client - 1)) + number}
        for client in range(1, clients + 1)
        for number in range(1, count + 1)
    ]


def summary(rate: float, window: float, held: bool) -> dict[str, Any]:
    """A summary as ``stone load`` writes it, of a trial that held or was far too slow."""
    offered = round(rate * window)
    latency = {"count": offered, "mean": 5.0, "p50": 4.0, "p75": 6.0, "p90": 8.0, "p95": 9.0, "p99": 10.0}
    latency |= {"p999": 12.0, "max": 15.0}
    slow = {key: value if held else value * 100 for key, value in latency.items()}
    counts = {"offered": offered, "sent": offered, "completed": offered, "late": 0, "errors": 0}
    counts |= {"timeouts": 0, "unsent": 0, "in_flight": 0}
    each = window / 10
    return {
        "schema": 1,
        "started": "2026-01-01T00:00:00Z",
        "plan": {"connections": 64, "warmup_s": 0, "slo": {"percentile": 99.0, "latency_ms": 50.0}},
        "planned": offered,
        "window_s": window,
        "counts": counts,
        "violations": 0 if held else offered // 2,
        "completed_in_window": offered,
        "throughput": offered / window,
        "latency_ms": {"intended": slow, "service": slow, "lateness": {**latency, "p99": 0.1}},
        "spectrum": [],
        "operations": [
            {"name": "get", "counts": counts, "violations": 0, "all": {"sent": offered, "completed": offered}}
        ],
        "errors": [],
        "batches": [
            {"start_s": i * each, "offered": offered // 10, "completed": offered // 10, "backlog": 0} for i in range(10)
        ],
        "series": {"step_s": window / 100, "mean_ms": [5.0 + 0.01 * (i % 7) for i in range(100)]},
        "generator": {"cpu_s": 0.1, "wall_s": window, "cpu_us_per_request": 20.0, "cpu_share": 0.1},
        "aborted": None,
    }


class Recorder(Listener):
    """Records what was reported."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def step(self, text: str) -> None:
        self.steps.append(text)


def conduct(plan: Plan, ledger: Ledger, driver: FakeDriver | None = None) -> FakeDriver:
    """Run what is left of a study with fake layers."""
    driver = driver or FakeDriver()
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), driver, Recorder()).run()
    return driver
