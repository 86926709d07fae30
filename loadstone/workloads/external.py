"""What the adapters to other load generators share: running the tool, and turning what it says into a summary.

A tool says less than ``stone load``. What it does not tell is None in the summary and stays empty in every table; it is
never computed from what was asked for.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.infrastructure.children import child
from loadstone.model.records import (
    Counts,
    Failure,
    Generator,
    Latencies,
    Latency,
    LoadPlan,
    Operation,
    Totals,
    TrialSummary,
)
from loadstone.model.workload import Operation as WorkloadOperation
from loadstone.model.workload import Workload
from loadstone.workloads.base import Driver, DriverError, Offer, Progress, Unreachable

STATISTICS = ("mean", "p50", "p75", "p90", "p95", "p99", "p999", "max")
Statistics = dict[str, float | None]
Spectrum = list[tuple[float, float | None, float | None]]
"""Percentile, latency in ms from the intended send time, and from the actual one."""


@dataclass(frozen=True)
class Told:
    """What a tool said of one run; None is what it does not tell. Latencies are in ms, by ``STATISTICS``."""

    loop: Literal["open", "closed"]
    """``open``, or ``closed``: it waits for an answer before it sends again."""
    seconds: float
    """How long it sent."""
    completed: int
    """Answers that it counts as good."""
    answered: int
    """Answers that its latencies are of."""
    errors: int
    timeouts: int | None = None
    offered: int | None = None
    sent: int | None = None
    unsent: int | None = None
    in_flight: int | None = None
    intended: Statistics | None = None
    service: Statistics | None = None
    spectrum: Spectrum = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    """Errors by what they were, as far as it says."""
    remarks: tuple[str, ...] = ()
    """What a reader must know of these numbers."""


class External(Driver):
    """Another load generator, run where it is installed, on the client's cores."""

    install: ClassVar[str]
    """How to get it."""

    @abstractmethod
    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        """The command line of one run; files that it needs go to ``offer.folder``."""

    @abstractmethod
    def read(self, said: str, offer: Offer, seconds: float) -> Told:
        """What a run told, from its standard output; raises DriverError where that cannot be read."""

    def environment(self, offer: Offer) -> dict[str, str]:
        """Variables for the tool, beside our own."""
        return {}

    def threads(self, offer: Offer) -> int | None:
        """Threads that send; None where it takes as many as it gets."""
        return None

    def program(self) -> str | None:
        """Where the tool is; None where it is not installed."""
        return shutil.which(self.name)

    def preflight(self) -> list[PreflightFinding]:
        if self.program() is None:
            return [PreflightFinding(self.name, "error", "is not installed, or not on the PATH", self.install)]
        return [PreflightFinding(self.name, "ok", self.version())]

    def version(self) -> str:
        result = subprocess.run(
            [self.program() or self.name, *self.version_option], capture_output=True, text=True, check=False
        )
        lines = (result.stdout or result.stderr).strip().splitlines()
        return lines[0] if lines else "unknown"

    version_option: ClassVar[tuple[str, ...]] = ("--version",)

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        program = self.program()
        if program is None:
            raise DriverError(f"{self.name} is not installed; {self.install}")
        if len(offer.targets) > 1:
            raise DriverError(f"{self.name} loads one address, and the application has {len(offer.targets)} front ends")
        offer = replace(offer, folder=offer.folder.resolve())  # the tool runs in it, and is told of files by their path
        of = offer.warmup_s + offer.duration_s
        warm: Told | None = None
        if offer.warmup_s > 0:
            said, _, _ = self._run(program, offer, offer.warmup_s, lambda t: progress(_line("warmup", t, of)))
            warm = self.read(said, offer, offer.warmup_s)
        began = datetime.now(UTC)
        offer.window_begins()
        said, cpu_s, wall_s = self._run(
            program, offer, offer.duration_s, lambda t: progress(_line("measure", offer.warmup_s + t, of))
        )
        offer.window_ends()
        progress(_line("drain", of, of))
        (offer.folder / f"{self.name}.txt").write_text(said, encoding="utf-8")
        told = self.read(said, offer, offer.duration_s)
        generator = self._generator(offer, told, cpu_s, wall_s)
        summary = summarize(self.name, offer, told, generator, warm, began.isoformat())
        text = summary.model_dump_json(by_alias=True, indent=1)
        (offer.folder / "summary.json").write_text(text, encoding="utf-8")
        return summary

    def _run(self, program: str, offer: Offer, seconds: float, tick: Any) -> tuple[str, float, float]:
        """Standard output, CPU seconds and wall seconds of one run of the tool."""
        command = self.command(program, offer, seconds)
        environment = {**os.environ, **self.environment(offer)}
        before, began = _children_cpu_s(), time.monotonic()
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
            child(command, offer.cpus, stdout=out, stderr=err, cwd=offer.folder, env=environment) as process,
        ):
            while True:
                tick(time.monotonic() - began)
                try:
                    code = process.wait(1)
                    break
                except subprocess.TimeoutExpired:
                    continue
            out.seek(0)
            err.seek(0)
            said, complaint = out.read(), err.read().strip()
        if code != 0:
            words = complaint[-500:] or said.strip()[-500:] or "it said nothing"
            kind = Unreachable if "refused" in words or "unable to connect" in words else DriverError
            raise kind(f"{self.name} exited with {code}: {words}")
        return said, _children_cpu_s() - before, time.monotonic() - began

    def _generator(self, offer: Offer, told: Told, cpu_s: float, wall_s: float) -> Generator:
        """What the tool used, as the kernel counted it; its busiest thread cannot be told from outside."""
        cpus, threads = len(offer.cpus) or len(os.sched_getaffinity(0)), self.threads(offer)
        answers = told.completed + told.errors
        return Generator(
            cpu_s=cpu_s,
            wall_s=wall_s,
            cpu_us_per_request=1e6 * cpu_s / answers if answers else None,
            cpu_share=cpu_s / wall_s / min(cpus, threads or cpus) if wall_s else None,
            threads=threads,
        )


def the_request(offer: Offer) -> WorkloadOperation | None:
    """The one request of the workload; None where a script makes them."""
    if isinstance(offer.workload, Workload):
        return next(iter(offer.workload.operations.values()))
    return None


def url(offer: Offer) -> str:
    """Where the one request goes; without a path for a script."""
    request = the_request(offer)
    return f"{'http' if offer.load.tls is None else 'https'}://{offer.targets[0]}{request.path if request else ''}"


def statistics(**told: float | None) -> Statistics:
    """Latencies in ms with None for the rest."""
    return {**dict.fromkeys(STATISTICS), **told}


def whole(seconds: float) -> str:
    """A duration for a tool that takes whole seconds."""
    return f"{round(seconds)}s"


def summarize(
    name: str, offer: Offer, told: Told, generator: Generator, warm: Told | None = None, started: str = ""
) -> TrialSummary:
    """The summary of one run; pure."""
    counts = Counts(
        offered=told.offered,
        sent=told.sent,
        completed=told.completed,
        errors=told.errors,
        timeouts=told.timeouts,
        unsent=told.unsent,
        in_flight=told.in_flight,
    )
    latencies = Latencies(
        intended=_distribution(told.intended, told.answered), service=_distribution(told.service, told.answered)
    )
    operations = []
    if isinstance(offer.workload, Workload):
        everything = told.completed + (warm.completed if warm is not None else 0)
        part = next(iter(offer.workload.operations))
        operations.append(Operation(name=part, counts=counts, latency_ms=latencies, all=Totals(completed=everything)))
    return TrialSummary(
        driver=name,
        remarks=told.remarks,
        started=started,
        plan=LoadPlan.model_validate(_plan(offer)),
        loop=told.loop,
        window_s=told.seconds,
        counts=counts,
        offered_rate=offer.rate or None,
        throughput=told.completed / told.seconds if told.seconds else 0.0,
        latency_ms=latencies,
        spectrum=tuple(told.spectrum),
        operations=tuple(operations),
        errors=tuple(Failure(kind=kind, count=count) for kind, count in told.kinds.items()),
        generator=generator,
    )


def _distribution(latency: Statistics | None, count: int) -> Latency | None:
    return None if latency is None else Latency.model_validate({"count": count, **latency})


def _plan(offer: Offer) -> dict[str, Any]:
    script = {"script": {"path": str(offer.workload)}} if isinstance(offer.workload, Path) else {}
    return {
        "target": url(offer),
        "connections": offer.clients or offer.load.connections,
        "rate": offer.rate or None,
        "clients": offer.clients,
        "warmup_s": offer.warmup_s,
        "duration_s": offer.duration_s,
        "timeout_s": offer.load.timeout,
        **script,
    }


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(phase: str, t: float, of: float) -> dict[str, Any]:
    return {"t": min(t, of), "of": of, "phase": phase}
