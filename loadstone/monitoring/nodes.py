"""Counters of nodes and replicas: recorded by each node's own machine, one file a trial."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.infrastructure.machines import Machine, Watch, connect, in_parallel, this_machine
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import LoadstoneError
from loadstone.model.observing import Metrics
from loadstone.model.records.node.replicas import Subject, WatchArgs
from loadstone.model.records.observed import HOST, Observed, ObservedNode, on_host
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.orchestration.base import Orchestrator

FILE = "metrics.parquet"


@dataclass(frozen=True)
class _Recorded:
    """A machine, the name under which its counters are filed, and the names of all nodes that share its kernel."""

    machine: Machine
    node: str
    nodes: tuple[str, ...]
    cores: tuple[int, ...]
    """Those that reading may use; all where empty."""
    guests: Mapping[str, Subject] = field(default_factory=dict, hash=False)
    """The QEMU of each virtual machine of ours that runs on it."""


class Nodes(Collector):
    """Has machines watch. Nodes that share this machine's kernel are read once, under the name of the first."""

    name = "nodes"

    def __init__(self, metrics: Metrics, desk: Node) -> None:
        self._metrics = metrics
        self._desk = desk
        self._watches: dict[_Recorded, Watch] = {}
        self._problems: list[str] = []
        self._folder = Path()

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Nodes | None:
        return cls(settings.metrics, desk) if settings.metrics is not None else None

    def start(self) -> None:
        """Nothing runs beside the deployment."""

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder, self._problems = folder, []
        try:
            subjects = orchestrator.subjects()
        except LoadstoneError as error:
            self._problems.append(f"counters of replicas are not recorded: {error.first_line}")
            subjects = {}
        switch = orchestrator.access.switch if orchestrator.access is not None else ""

        def watch(recorded: _Recorded) -> Watch | None:
            here = recorded.machine is this_machine()
            replicas = {name: subject for name, (node, subject) in subjects.items() if node in recorded.nodes}
            args = WatchArgs(
                period_ms=round(1000 * self._metrics.period),
                replicas={**replicas, **recorded.guests},
                networks={"switch": Subject(group=switch)} if here and switch else {},
                cores=recorded.cores,
            )
            try:
                return recorded.machine.watch(args)
            except LoadstoneError as error:
                self._problems.append(f"{recorded.node} was not recorded: {error.first_line}")
                return None

        machines = self._machines(orchestrator.deployment)
        started = zip(machines, in_parallel(watch, machines), strict=True)
        self._watches = {recorded: watch for recorded, watch in started if watch is not None}

    def _machines(self, deployment: Deployment) -> list[_Recorded]:
        """The machines to record: of all nodes but clients, and the host of virtual machines. No channel leads to
        managers of clusters that were there before."""
        guests = {
            on_host(node.name): Subject(group=node.guest.group) for node in deployment.nodes if node.guest is not None
        }
        local = [node.name for node in deployment.nodes if node.reach.local]
        named = [node.name for node in deployment.nodes if node.reach.local and node.role != "client"]
        found = [_Recorded(this_machine(), named[0], tuple(local), self._desk.cpus)] if named else []
        if guests:
            found.append(_Recorded(this_machine(), HOST, (HOST,), self._desk.cpus, guests))
        for node in deployment.nodes:
            reached = node.role == "worker" or (node.role == "manager" and not node.reach.through_cluster)
            if reached and not node.reach.local:
                found.append(_Recorded(connect(node.name, node.reach), node.name, (node.name,), ()))
        return found

    def end(self, observed: Observed, sent: int | None) -> Observed:
        in_parallel(lambda watch: watch.end(), self._watches.values())
        tables: dict[str, pa.Table] = {}
        nodes = dict(observed.nodes)
        for recorded, watch in self._watches.items():
            node = recorded.node
            self._problems += _what_is_missing(node, watch)
            if not watch.files:
                continue
            tables[node] = pa.concat_tables([pq.read_table(io.BytesIO(file)) for file in watch.files])
            nodes[node] = _observed(nodes.get(node), recorded, watch)
        self._watches = {}
        if tables:
            _write(tables, self._folder / FILE)
        return observed.adding(self._problems, nodes=nodes)

    def stop(self) -> None:
        in_parallel(lambda watch: watch.end(), self._watches.values())  # of a trial that was interrupted
        self._watches = {}


def _what_is_missing(node: str, watch: Watch) -> Sequence[str]:
    if watch.watched is not None and watch.watched.stopped:
        return [f"the recording of {node} stopped early: {watch.watched.stopped}"]
    if watch.problem:
        return [f"{node} was not recorded{' to the end' if watch.files else ''}: {watch.problem}"]
    return []


def _observed(known: ObservedNode | None, recorded: _Recorded, watch: Watch) -> ObservedNode:
    """The node with what its machine reports beside its numbers."""
    update: dict[str, object] = {"recorded": True}
    if watch.watched is not None:
        update |= {"absent": watch.watched.absent, "skipped": watch.watched.skipped}
    if len(recorded.nodes) > 1:
        update["shared_by"] = recorded.nodes
    return (known or ObservedNode(recorded=True)).model_copy(update=update)


def _write(tables: Mapping[str, pa.Table], file: Path) -> None:
    """All nodes' readings in one file, whole or not at all; ``node`` says whose they are."""
    named = [
        table.append_column("node", pa.array([node] * len(table), pa.string()).dictionary_encode())
        for node, table in tables.items()
    ]
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        pq.write_table(pa.concat_tables(named, promote_options="permissive"), temporary, compression="zstd")
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
