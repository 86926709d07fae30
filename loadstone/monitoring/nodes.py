"""Counters of nodes and replicas: an agent of this machine and those of nodes elsewhere, one file a trial."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import requests

from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.observing import Metrics
from loadstone.model.records import Observed, ObservedNode
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.monitoring.instrument import Instrument, InstrumentError, ask
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator

FILE = "metrics.parquet"
_MOST_NODES = 16
_WITHIN_S = 60.0
_REPORTED = ("absent", "skipped")
"""What an agent reports of its recording in the file's metadata, as JSON."""


class Nodes(Collector):
    """Has the agents record. Nodes that share this machine's kernel are read once, under the name of the first."""

    name = "nodes"

    def __init__(self, metrics: Metrics, deployment: Deployment, desk: Node) -> None:
        self._metrics = metrics
        self._nodes = deployment.nodes
        self._desk = desk
        self._here = [node.name for node in deployment.nodes if node.here and node.role != "client"]
        self._beside = stacks.address(deployment, stacks.AGENT)
        self._watched = stacks.address(deployment, "prometheus") is not None
        self._own: Instrument | None = None
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy for the web does not lead to a node
        self._recordings: dict[str, str] = {}
        self._problems: list[str] = []
        self._folder = Path()

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Nodes | None:
        return cls(settings.metrics, deployment, desk) if settings.metrics is not None else None

    def start(self) -> None:
        if self._here and self._beside is None:
            host = self._desk.address if self._watched else "127.0.0.1"
            self._own = Instrument(["agent", "--listen", f"{host}:0"], self._desk.cpus)

    def prepare(self, deployment: Deployment) -> Deployment:
        # A Prometheus, if there is one, is to ask the agent of this machine too.
        return stacks.watching(deployment, self._ours()) if self._own is not None else deployment

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder, self._problems = folder, []
        if self._own is not None and not self._own.alive():
            self._own.stop()
            try:
                self.start()
            except DeploymentError as error:
                self._problems.append(str(error))
        agents = {**orchestrator.agents(), **self._ours()}
        found = orchestrator.recordable()
        if unread := sorted({node for node, _ in found.values()} - {*agents, *self._here}):
            self._problems.append(f"counters of hosts elsewhere are not recorded: {', '.join(unread)}")

        def begin_one(node: str) -> tuple[str, str | None]:
            alike = self._here if node in self._ours() else [node]
            replicas = {name: how for name, (where, how) in found.items() if where in alike}
            body = {"period_ms": round(1000 * self._metrics.period), "replicas": replicas}
            if node in self._ours() and orchestrator.access is not None and orchestrator.access.switch:
                body["networks"] = {"switch": {"group": orchestrator.access.switch}}
            try:
                answer = ask(self._session, "POST", f"http://{agents[node]}/recordings", body, _WITHIN_S)
                return node, f"http://{agents[node]}/recordings/{answer.json()['id']}"
            except (InstrumentError, ValueError, KeyError) as error:
                self._problems.append(f"{node} was not recorded: {error}")
                return node, None

        with ThreadPoolExecutor(_MOST_NODES) as pool:
            self._recordings = {node: url for node, url in pool.map(begin_one, agents) if url is not None}

    def _ours(self) -> Mapping[str, str]:
        """The agent of this machine, which may be a part of the deployment."""
        address = self._own.addresses[0] if self._own is not None else self._beside
        return {self._here[0]: address} if address is not None and self._here else {}

    def end(self, observed: Observed, sent: int | None) -> Observed:
        def end_one(node: str) -> tuple[str, pa.Table | None]:
            try:
                answer = ask(self._session, "POST", f"{self._recordings[node]}/end", None, _WITHIN_S)
                return node, pq.read_table(io.BytesIO(answer.content))
            except (InstrumentError, pa.ArrowException) as error:
                self._problems.append(f"{node} was not recorded: {error}")
                return node, None

        with ThreadPoolExecutor(_MOST_NODES) as pool:
            tables = {node: table for node, table in pool.map(end_one, self._recordings) if table is not None}
        self._recordings = {}
        if tables:
            _write(tables, self._folder / FILE)
        recorded = {node: self._recorded(observed.nodes.get(node), node, table) for node, table in tables.items()}
        return observed.adding(self._problems, nodes={**observed.nodes, **recorded})

    def _recorded(self, known: ObservedNode | None, node: str, table: pa.Table) -> ObservedNode:
        """The node with what its agent reports beside its numbers."""
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        reported = {key: json.loads(metadata[key]) for key in _REPORTED if key in metadata}
        if why := metadata.get("stopped"):
            self._problems.append(f"the recording of {node} stopped early: {why}")
        shared = tuple(one.name for one in self._nodes if one.here) if node in self._here[:1] else ()
        known = known or ObservedNode(recorded=True)
        return known.model_copy(
            update={"recorded": True, **reported, "shared_by": shared if len(shared) > 1 else known.shared_by}
        )

    def stop(self) -> None:
        for url in self._recordings.values():  # of a trial that was interrupted
            with contextlib.suppress(InstrumentError):
                ask(self._session, "DELETE", url, None, _WITHIN_S)
        self._recordings = {}
        if self._own is not None:
            self._own.stop()
            self._own = None


def _write(tables: Mapping[str, pa.Table], file: Path) -> None:
    """All nodes' readings in one file, whole or not at all; ``node`` says whose they are."""
    named = [
        table.replace_schema_metadata(None).append_column(
            "node", pa.array([node] * len(table), pa.string()).dictionary_encode()
        )
        for node, table in tables.items()
    ]
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        pq.write_table(pa.concat_tables(named, promote_options="permissive"), temporary, compression="zstd")
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
