"""Spans of the deployment's services: ``stone spans`` beside the load generator, a file a trial.

Of several receivers each has the spans of its own traces, as services of ``stone`` choose it by the trace's id; other
services send all of theirs to one of them. The files of a trial are merged when it has ended.
"""

from __future__ import annotations

from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import in_parallel
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.observing import Traces
from loadstone.model.records.observed import Observed, SpanCounts
from loadstone.model.study import Settings
from loadstone.monitoring.base import Collector
from loadstone.monitoring.receiver import ReceiverError
from loadstone.monitoring.receiving import ReceivingPlace, places
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.variables import traced

FILE = "spans.parquet"
_MERGED_WITHIN_S = 600.0


class Spans(Collector):
    """Takes spans on this machine, or on clients of the cluster; ``prepare`` has services send them there."""

    name = "spans"

    def __init__(self, traces: Traces, deployment: Deployment, desk: Node) -> None:
        self._traces = traces
        self._places = places(
            deployment, desk, traces.receivers or 1, traces.forward or stacks.traces_endpoint(deployment)
        )
        self._folder = Path()

    @classmethod
    def wanted(cls, settings: Settings, deployment: Deployment, desk: Node) -> Spans | None:
        traces = settings.traces
        return cls(traces, deployment, desk) if traces is not None and traces.sample > 0 else None

    def prepare(self, deployment: Deployment) -> Deployment:
        return traced(deployment, [place.grpc for place in self._places], self._traces.sample)

    def start(self) -> None:
        for place in self._places:  # the kernel ends a receiver with the thread that started it
            place.start()

    def begin(self, orchestrator: Orchestrator, folder: Path) -> None:
        self._folder = folder
        for place in self._places:
            place.begin(orchestrator.deployment, self._file(place))

    def _file(self, place: ReceivingPlace) -> Path:
        """The trial's own, or that of a part of its spans."""
        single = len(self._places) == 1
        return self._folder / (FILE if single else f"spans-{self._places.index(place) + 1}.parquet")

    def end(self, observed: Observed, sent: int | None) -> Observed:
        known = SpanCounts(sample=self._traces.sample, requests=sent)
        counts = in_parallel(lambda place: place.end(self._file(place)), self._places)
        failed = [place for place in self._places if place.problem]
        try:
            if any(place.local for place in failed):
                self._recover()
            whole = counts[0] if len(counts) == 1 else self._merge()
        except ReceiverError as error:
            return observed.adding([f"spans were not recorded: {error}"], traces=known)
        if failed:
            return observed.adding(map(self._lost, failed), traces=known)
        if any(place.anew for place in self._places):  # it does not know how many services had made before
            whole = whole.model_copy(update={"produced": None, "dropped": None})
        found = whole.model_copy(update={"sample": known.sample, "requests": known.requests})
        return observed.adding(_problems(found, len(self._places)), traces=found)

    def _recover(self) -> None:
        """Complete the span files of receivers that were killed here."""
        subprocesses.run([str(stone_binary()), "spans", "--recover", str(self._folder)], _MERGED_WITHIN_S)

    def _lost(self, place: ReceivingPlace) -> str:
        where = "" if len(self._places) == 1 else f" at {place.node.name}"
        saved = " to the end" if place.local and (self._folder / FILE).exists() else ""
        return f"spans were not recorded{where}{saved}: {place.problem}"

    def _merge(self) -> SpanCounts:
        """Make the trial's file of those of all receivers; the sums of their counts."""
        parts = [file for place in self._places if (file := self._file(place)).exists()]
        if not parts:
            return SpanCounts()
        command = [str(stone_binary()), "spans", "--merge", str(self._folder / FILE), *map(str, parts)]
        done = subprocesses.run(command, _MERGED_WITHIN_S)
        if done.returncode != 0:
            raise ReceiverError(f"the files of {len(parts)} receivers cannot be merged: {done.stderr.strip()[-300:]}")
        for part in parts:
            part.unlink()
        return SpanCounts.model_validate_json(done.stdout)

    def stop(self) -> None:
        for place in self._places:
            place.stop()


def _problems(counts: SpanCounts, receivers: int) -> list[str]:
    """What is missing by the counts, as sentences."""
    more = f"set traces.receivers to {receivers + 1} or more, or lower traces.sample"
    missing = {
        "dropped": "spans were given up by services",
        "refused": f"spans were refused by the receiver, which could not keep up; {more}",
        "unreadable": "spans were rejected, without valid ids or times, or in requests that could not be read",
        "unread": "requests with spans could not be read: no OTLP, too large, or of an unknown type",
    }
    problems = [f"{lost:,} {what}" for key, what in missing.items() if (lost := getattr(counts, key))]
    known = (counts.received or 0) + (counts.dropped or 0)
    if counts.produced is not None and counts.produced > known:
        problems.append(f"{counts.produced - known:,} of {counts.produced:,} spans never came")
    return problems
