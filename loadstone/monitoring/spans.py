"""Spans of the deployment's services: ``stone spans`` beside the load generator, a file a trial."""

from __future__ import annotations

import time
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.observing import Traces
from loadstone.model.records import Observed, SpanCounts
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.monitoring.receiver import Receiver, ReceiverError
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.variables import traced

FILE = "spans.parquet"
_QUIET_S = 2.6
"""Without a span for so long, all are in: services send what they have every two seconds."""
_WITHIN_S = 15.0
_BEGUN_WITHIN_S = 30.0
_MERGED_WITHIN_S = 600.0


class Spans(Collector):
    """Takes spans at the desk's address; ``prepare`` has services send them there."""

    name = "spans"

    def __init__(self, traces: Traces, deployment: Deployment, desk: Node) -> None:
        self._traces = traces
        self._forward = traces.forward or stacks.traces_endpoint(deployment)
        self._desk = desk
        self._receiver: Receiver | None = None
        self._folder = Path()
        self._problem = ""
        self._anew = False

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Spans | None:
        traces = settings.traces
        return cls(traces, deployment, desk) if traces is not None and traces.sample > 0 else None

    def prepare(self, deployment: Deployment) -> Deployment:
        assert self._receiver is not None
        return traced(deployment, self._receiver.grpc, self._traces.sample)

    def start(self) -> None:
        anywhere = f"{self._desk.address}:0"
        grpc, http = (self._receiver.grpc, self._receiver.http) if self._receiver else (anywhere, anywhere)
        forward = ["--forward", self._forward] if self._forward is not None else []
        self._receiver = Receiver(["--grpc", grpc, "--http", http, *forward], self._desk.cpus)

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder, self._problem, self._anew = folder, "", False
        try:
            assert self._receiver is not None
            if not self._receiver.alive():  # services keep sending to its address
                self._receiver.stop()
                self.start()
                self._anew = True
            trial = {"file": str((folder / FILE).resolve()), "since_ns": time.time_ns()}
            self._receiver.order("begin", trial, _BEGUN_WITHIN_S)
        except (ReceiverError, DeploymentError) as error:
            self._problem = str(error)

    def end(self, observed: Observed, sent: int | None) -> Observed:
        known = SpanCounts(sample=self._traces.sample, requests=sent)
        try:
            assert self._receiver is not None
            if self._problem:
                raise ReceiverError(self._problem)
            counts = self._receiver.order("end", {"quiet_s": _QUIET_S, "within_s": _WITHIN_S}, _MERGED_WITHIN_S)
        except ReceiverError as error:
            return observed.adding([f"spans were not recorded{self._saved()}: {error}"], traces=known)
        if self._anew:  # it does not know how many services had made before
            counts |= {"produced": None, "dropped": None}
        found = SpanCounts.model_validate({**counts, **known.model_dump(include={"sample", "requests"})})
        return observed.adding(_problems(found), traces=found)

    def _saved(self) -> str:
        """Complete the span file of a receiver that was killed; returns the warning about it."""
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
