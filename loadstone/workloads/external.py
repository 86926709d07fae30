"""What the adapters to other load generators share: running the tool, and converting its output to a summary.

A tool reports less than ``stone load``. What it does not report is None in the summary and empty in every table; it is
never computed from the requested load.
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

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.base import Finding as PreflightFinding
from loadstone.infrastructure.subprocesses import child
from loadstone.model.records.summary import (
    Counts,
    Failure,
    Generator,
    Latencies,
    Latency,
    LoadPlan,
    OperationSummary,
    Totals,
    TrialSummary,
)
from loadstone.model.workload import Operation, Workload
from loadstone.workloads.base import Driver, DriverError, Offer, Progress, TargetUnreachable, deadline_s, in_time

STATISTICS = ("mean", "p50", "p75", "p90", "p95", "p99", "p999", "max")
Statistics = dict[str, float | None]
Spectrum = list[tuple[float, float | None, float | None]]
"""Percentile, latency in ms from the intended send time, and from the actual one."""


@dataclass(frozen=True)
class ToolResult:
    """What a tool reported of one run; None is what it does not report. Latencies are in ms, by ``STATISTICS``."""

    loop: Literal["open", "closed"]
    """``closed``: each client waits for an answer before it sends again."""
    seconds: float
    """Duration of sending."""
    completed: int
    """Requests that it counts as successful."""
    answered: int
    """Requests in its latency distribution."""
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
    """Errors by kind, as far as it reports kinds."""
    remarks: tuple[str, ...] = ()
    """Limits of these numbers, for the report."""


class ExternalDriver(Driver):
    """Another load generator, installed on this machine and run on the client's cores."""

    install: ClassVar[str]
    """The command that installs it."""

    @abstractmethod
    def command(self, program: str, offer: Offer, seconds: float) -> list[str]:
        """The command line of one run; writes the files that it needs to ``offer.folder``."""

    @abstractmethod
    def read(self, output: str, offer: Offer, seconds: float) -> ToolResult:
        """The result of a run, parsed from its standard output. Raises DriverError where that cannot be parsed."""

    def environment(self, offer: Offer) -> dict[str, str]:
        """Environment variables for the tool, added to the current environment."""
        return {}

    def threads(self, offer: Offer) -> int | None:
        """The number of sending threads; None where the tool has no limit."""
        return None

    def program(self) -> str | None:
        """The path of the tool; None where it is not installed."""
        return shutil.which(self.name)

    def preflight(self) -> list[PreflightFinding]:
        if self.program() is None:
            return [PreflightFinding(self.name, "error", "is not installed, or not on the PATH", self.install)]
        return [PreflightFinding(self.name, "ok", self.version())]

    def version(self) -> str:
        result = subprocesses.run([self.program() or self.name, *self.version_option])
        lines = (result.stdout or result.stderr).strip().splitlines()
        return lines[0] if lines else "unknown"

    version_option: ClassVar[tuple[str, ...]] = ("--version",)

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        program = self.program()
        if program is None:
            raise DriverError(f"{self.name} is not installed; {self.install}")
        if len(offer.targets) > 1:
            raise DriverError(f"{self.name} loads one address, and the application has {len(offer.targets)} front ends")
        offer = replace(offer, folder=offer.folder.resolve())  # the tool runs in this folder and gets absolute paths
        of = offer.warmup_s + offer.duration_s
        warm: ToolResult | None = None
        if offer.warmup_s > 0:
            output, _, _ = self._run(program, offer, offer.warmup_s, lambda t: progress(_line("warmup", t, of)))
            warm = self.read(output, offer, offer.warmup_s)
        began = datetime.now(UTC)
        offer.window_begins()
        output, cpu_s, wall_s = self._run(
            program, offer, offer.duration_s, lambda t: progress(_line("measure", offer.warmup_s + t, of))
        )
        offer.window_ends()
        progress(_line("drain", of, of))
        (offer.folder / f"{self.name}.txt").write_text(output, encoding="utf-8")
        result = self.read(output, offer, offer.duration_s)
        generator = self._generator(offer, result, cpu_s, wall_s)
        summary = summarize(self.name, offer, result, generator, warm, began.isoformat())
        text = summary.model_dump_json(by_alias=True, indent=1)
        (offer.folder / "summary.json").write_text(text, encoding="utf-8")
        return summary

    def _run(self, program: str, offer: Offer, seconds: float, tick: Any) -> tuple[str, float, float]:
        """Standard output, CPU seconds and wall seconds of one run of the tool."""
        command = self.command(program, offer, seconds)
        environment = {**os.environ, **self.environment(offer)}
        before, began = _children_cpu_s(), time.monotonic()
        with (
            tempfile.TemporaryFile("w+", errors="replace") as out,
            tempfile.TemporaryFile("w+", errors="replace") as err,
            in_time(),
            child(
                command,
                offer.cpus,
                deadline_s(offer),
                stdout=out,
                stderr=err,
                cwd=offer.folder,
                env=environment,
            ) as process,
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
            output, complaint = out.read(), err.read().strip()
        if code != 0:
            message = complaint[-500:] or output.strip()[-500:] or "no output"
            kind = TargetUnreachable if "refused" in message or "unable to connect" in message else DriverError
            raise kind(f"{self.name} exited with {code}: {message}")
        return output, _children_cpu_s() - before, time.monotonic() - began

    def _generator(self, offer: Offer, result: ToolResult, cpu_s: float, wall_s: float) -> Generator:
        """What the tool used, as the kernel counted it; the load of its busiest thread is unknown."""
        cpus, threads = len(offer.cpus) or len(os.sched_getaffinity(0)), self.threads(offer)
        answers = result.completed + result.errors
        return Generator(
            cpu_s=cpu_s,
            wall_s=wall_s,
            cpu_us_per_request=1e6 * cpu_s / answers if answers else None,
            cpu_share=cpu_s / wall_s / min(cpus, threads or cpus) if wall_s else None,
            threads=threads,
        )


def the_request(offer: Offer) -> Operation | None:
    """The only request of the workload; None where a script makes the requests."""
    if isinstance(offer.workload, Workload):
        return next(iter(offer.workload.operations.values()))
    return None


def url(offer: Offer) -> str:
    """The URL of the only request; without a path for a script."""
    request = the_request(offer)
    return f"{'http' if offer.load.tls is None else 'https'}://{offer.targets[0]}{request.path if request else ''}"


def statistics(**known: float | None) -> Statistics:
    """Latencies in ms by name; None for those that are not given."""
    return {**dict.fromkeys(STATISTICS), **known}


def number(value: float) -> str:
    """A number for a tool, with all its digits and without an exponent."""
    return f"{value:.15g}"


def whole(seconds: float) -> str:
    """A duration for a tool that accepts whole seconds only."""
    return f"{round(seconds)}s"


def summarize(
    name: str, offer: Offer, result: ToolResult, generator: Generator, warm: ToolResult | None = None, started: str = ""
) -> TrialSummary:
    """The summary of one run; pure."""
    counts = Counts(
        offered=result.offered,
        sent=result.sent,
        completed=result.completed,
        errors=result.errors,
        timeouts=result.timeouts,
        unsent=result.unsent,
        in_flight=result.in_flight,
    )
    latencies = Latencies(
        intended=_distribution(result.intended, result.answered), service=_distribution(result.service, result.answered)
    )
    operations = []
    if isinstance(offer.workload, Workload):
        completed = result.completed + (warm.completed if warm is not None else 0)
        part = next(iter(offer.workload.operations))
        operations.append(
            OperationSummary(name=part, counts=counts, latency_ms=latencies, all=Totals(completed=completed))
        )
    return TrialSummary(
        driver=name,
        remarks=result.remarks,
        started=started,
        plan=LoadPlan.model_validate(_plan(offer)),
        loop=result.loop,
        window_s=result.seconds,
        counts=counts,
        offered_rate=offer.rate or None,
        throughput=result.completed / result.seconds if result.seconds else 0.0,
        latency_ms=latencies,
        spectrum=tuple(result.spectrum),
        operations=tuple(operations),
        errors=tuple(Failure(kind=kind, count=count) for kind, count in result.kinds.items()),
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
