"""Spans of the deployment's services: ``stone spans`` beside the load generator, a file a trial."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

from loadstone.infrastructure.binary import stone_binary
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.observing import Traces
from loadstone.model.records import Observed, SpanCounts
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.monitoring.instrument import Instrument, InstrumentError
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.tracing import traced

FILE = "spans.parquet"
_QUIET_S = 2.6
"""Without a span for so long, all are in: services send what they have every two seconds."""
_WITHIN_S = 15.0
_MERGED_WITHIN_S = 600.0


class Spans(Collector):
    """Takes spans at the desk's address; ``prepare`` has services send them there."""

    name = "spans"

    def __init__(self, traces: Traces, deployment: Deployment, desk: Node) -> None:
        self._traces = traces
        self._forward = traces.forward or stacks.traces_endpoint(deployment)
        self._desk = desk
        self._instrument: Instrument | None = None
        self._folder = Path()
        self._problem = ""
        self._anew = False

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Spans | None:
        traces = settings.traces
        return cls(traces, deployment, desk) if traces is not None and traces.sample > 0 else None

    def prepare(self, deployment: Deployment) -> Deployment:
        assert self._instrument is not None
        return traced(deployment, self._instrument.addresses[0], self._traces.sample)

    def start(self) -> None:
        anywhere = f"{self._desk.address}:0"
        grpc, http, control = self._instrument.addresses if self._instrument else (anywhere, anywhere, "127.0.0.1:0")
        arguments = ["spans", "--grpc", grpc, "--http", http, "--control", control]
        if self._forward is not None:
            arguments += ["--forward", self._forward]
        self._instrument = Instrument(arguments, self._desk.cpus, lines=3)

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder, self._problem, self._anew = folder, "", False
        try:
            if self._instrument is not None and not self._instrument.alive():  # services know its address
                self._instrument.stop()
                self.start()
                self._anew = True
            order = {"file": str((folder / FILE).resolve()), "since_ns": time.time_ns()}
            self._ask("/trials", order, within_s=30.0)
        except (InstrumentError, DeploymentError) as error:
            self._problem = str(error)

    def end(self, observed: Observed, sent: int | None) -> Observed:
        known = SpanCounts(sample=self._traces.sample, requests=sent)
        try:
            if self._problem:
                raise InstrumentError(self._problem)
            counts = self._ask("/trials/end", {"quiet_s": _QUIET_S, "within_s": _WITHIN_S}, _MERGED_WITHIN_S)
        except InstrumentError as error:
            return observed.adding([f"spans were not recorded{self._saved()}: {error}"], traces=known)
        if self._anew:  # it does not know how many services had made before
            counts |= {"produced": None, "dropped": None}
        found = SpanCounts.model_validate({**counts, **known.model_dump(include={"sample", "requests"})})
        return observed.adding(_problems(found), traces=found)

    def _saved(self) -> str:
        """What is said of the spans that a receiver which was killed had written; they are made the trial's file."""
        command = [str(stone_binary()), "spans", "--recover", str(self._folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return " to the end" if done.returncode == 0 and (self._folder / FILE).exists() else ""

    def _ask(self, path: str, body: dict[str, Any], within_s: float) -> dict[str, Any]:
        assert self._instrument is not None
        try:
            said: dict[str, Any] = self._instrument.ask("POST", path, body, within_s).json()
        except ValueError as error:
            raise InstrumentError(f"its answer cannot be read: {error}") from None
        return said

    def stop(self) -> None:
        if self._instrument is not None:
            self._instrument.stop()
            self._instrument = None


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
