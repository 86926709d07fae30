"""Spans of the deployment's services: ``stone spans`` beside the load generator, a file a trial.

Its place is this machine, or a client of the cluster that generates the load itself: there it is started into the
container that waits, which is a part of the deployment, at the first trial, on ports that are known before.
"""

from __future__ import annotations

import time
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import Machine, connect
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.observing import Traces
from loadstone.model.records import Observed, SpanCounts
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.monitoring.receiver import Receiver, ReceiverError
from loadstone.orchestration import agent, stacks
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.variables import traced

FILE = "spans.parquet"
_GRPC_PORT, _HTTP_PORT = 4317, 4318
"""Those of OTLP, on a client of the cluster."""
_QUIET_S = 2.6
"""Without a span for so long, all are in: services send what they have every two seconds."""
_WITHIN_S = 15.0
_BEGUN_WITHIN_S = 30.0
_MERGED_WITHIN_S = 600.0


class Spans(Collector):
    """Takes spans at the desk's address, or a client's of the cluster; ``prepare`` has services send them there."""

    name = "spans"

    def __init__(self, traces: Traces, deployment: Deployment, desk: Node) -> None:
        self._traces = traces
        self._forward = traces.forward or stacks.traces_endpoint(deployment)
        self._desk = desk
        self._client = agent.client(deployment)
        self._machine: Machine | None = None
        """The client's, once it has been reached."""
        self._receiver: Receiver | None = None
        self._folder = Path()
        self._problem = ""
        self._anew = False

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Spans | None:
        traces = settings.traces
        return cls(traces, deployment, desk) if traces is not None and traces.sample > 0 else None

    def prepare(self, deployment: Deployment) -> Deployment:
        grpc, _ = self._addresses()
        return traced(deployment, grpc, self._traces.sample)

    def start(self) -> None:
        if self._client is None:
            self._receive()

    def _receive(self) -> None:
        grpc, http = self._addresses()
        forward = ["--forward", self._forward] if self._forward is not None else []
        self._receiver = Receiver(["--grpc", grpc, "--http", http, *forward], self._desk.cpus, self._machine)

    def _addresses(self) -> tuple[str, str]:
        """Where spans arrive, or shall arrive: gRPC and HTTP."""
        if self._client is not None:
            return f"{self._client.address}:{_GRPC_PORT}", f"{self._client.address}:{_HTTP_PORT}"
        if self._receiver is not None:
            return self._receiver.grpc, self._receiver.http
        return f"{self._desk.address}:0", f"{self._desk.address}:0"

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder, self._problem, self._anew = folder, "", False
        try:
            if self._receiver is None or not self._receiver.alive():  # services keep sending to its address
                self._begin_anew(orchestrator.deployment)
            assert self._receiver is not None
            trial = {"file": self._file, "since_ns": time.time_ns()}
            self._receiver.order("begin", trial, _BEGUN_WITHIN_S)
        except (ReceiverError, DeploymentError) as error:
            self._problem = str(error)

    def _begin_anew(self, deployment: Deployment) -> None:
        if self._receiver is not None:
            self._receiver.stop()
        if self._client is not None:
            node = deployment.node(self._client.name)
            self._machine = connect(node.name, node.reach)
        self._receive()
        self._anew = True

    @property
    def _file(self) -> str:
        """Where the receiver writes: into the trial's folder, or on a client into the file of its last trial."""
        return str((self._folder / FILE).resolve()) if self._client is None else f"{agent.SCRATCH}/{FILE}"

    def end(self, observed: Observed, sent: int | None) -> Observed:
        known = SpanCounts(sample=self._traces.sample, requests=sent)
        try:
            if self._problem:
                raise ReceiverError(self._problem)
            assert self._receiver is not None
            counts = self._receiver.order("end", {"quiet_s": _QUIET_S, "within_s": _WITHIN_S}, _MERGED_WITHIN_S)
            if self._machine is not None:
                (self._folder / FILE).write_bytes(self._machine.get(self._file))
        except (ReceiverError, DeploymentError) as error:
            return observed.adding([f"spans were not recorded{self._saved()}: {error}"], traces=known)
        if self._anew:  # it does not know how many services had made before
            counts |= {"produced": None, "dropped": None}
        found = SpanCounts.model_validate({**counts, **known.model_dump(include={"sample", "requests"})})
        return observed.adding(_problems(found), traces=found)

    def _saved(self) -> str:
        """Complete the span file of a receiver that was killed; returns the warning about it."""
        if self._client is not None:
            return ""
        command = [str(stone_binary()), "spans", "--recover", str(self._folder)]
        done = subprocesses.run(command, _MERGED_WITHIN_S)
        return " to the end" if done.returncode == 0 and (self._folder / FILE).exists() else ""

    def stop(self) -> None:
        if self._receiver is not None:
            self._receiver.stop()
            self._receiver = None


def _problems(counts: SpanCounts) -> list[str]:
    """What is missing by the counts, as sentences."""
    missing = {
        "dropped": "spans were given up by services",
        "refused": "spans were refused by the receiver, which could not keep up",
        "unreadable": "spans were rejected, without valid ids or times, or in requests that could not be read",
        "unread": "requests with spans could not be read: no OTLP, too large, or of an unknown type",
    }
    problems = [f"{lost:,} {what}" for key, what in missing.items() if (lost := getattr(counts, key))]
    known = (counts.received or 0) + (counts.dropped or 0)
    if counts.produced is not None and counts.produced > known:
        problems.append(f"{counts.produced - known:,} of {counts.produced:,} spans never came")
    return problems
