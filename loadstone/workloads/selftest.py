"""A minute's test of this machine as a load generator, against a server that answers at once.

The rate doubles until the generator is the bottleneck; a bisection then finds the highest rate at which it is not. A
last run records the arrival times of requests at the server, by its kernel's clock.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.subprocesses import QUICK_S, Watchdog, child, stop
from loadstone.model.load import Load
from loadstone.model.records.summary import TrialSummary
from loadstone.model.slo import Slo
from loadstone.model.workload import Operation, Workload
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.stone import Stone

FIRST_RATE, MOST_DOUBLINGS, REFINEMENTS = 500.0, 10, 3
STEP_S, ARRIVALS_S = 3.0, 12.0
_WORKLOAD = Workload(operations={"probe": Operation(path="/")})

Measure = Callable[[float], TrialSummary]
"""Offers a rate in requests/s and returns the summary."""
Clean = Callable[[TrialSummary], list[str]]
"""Evidence that the generator was the bottleneck of a run; empty where it was not."""


@dataclass(frozen=True)
class RateStep:
    """A run at one rate."""

    rate: float
    summary: TrialSummary
    faults: list[str]


def climb(measure: Measure, faults: Clean) -> Iterator[RateStep]:
    """Runs with a doubling rate until two in a row are not clean, then of a bisection; yields each after its run."""
    good, bad = 0.0, None
    for doubling in range(MOST_DOUBLINGS):
        step = _attempt(FIRST_RATE * 2**doubling, measure, faults)
        yield step
        if not step.faults:
            good, bad = step.rate, None
        elif bad is not None:
            break
        else:
            bad = step.rate
    if bad is None or good == 0:
        return
    for _ in range(REFINEMENTS):
        step = _attempt(float(round((good * bad) ** 0.5)), measure, faults)
        yield step
        good, bad = (good, step.rate) if step.faults else (step.rate, bad)


def _attempt(rate: float, measure: Measure, faults: Clean) -> RateStep:
    """A run at ``rate``; repeated once if it is not clean, as another program may have disturbed it."""
    step = RateStep(rate, *_run(rate, measure, faults))
    return RateStep(rate, *_run(rate, measure, faults)) if step.faults else step


def _run(rate: float, measure: Measure, faults: Clean) -> tuple[TrialSummary, list[str]]:
    summary = measure(rate)
    return summary, faults(summary)


@dataclass(frozen=True)
class SelfTest:
    """The generator and the server on CPUs of their own; files go to ``folder``."""

    generator_cpus: tuple[int, ...]
    server_cpus: tuple[int, ...]
    folder: Path

    @contextmanager
    def server(self) -> Iterator[str]:
        """Runs ``stone echo`` and yields its host:port; when it ends, ``stamps`` has the arrival times."""
        command = [str(stone_binary()), "echo", "--stamps", str(self.stamps)]
        with child(command, self.server_cpus, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout is not None
            with Watchdog(process, QUICK_S):
                line = process.stdout.readline().strip()
            if process.poll() is not None or ":" not in line:
                raise DriverError(f"stone echo did not start: {line or 'no output'}")
            try:
                yield line.split()[-1]
            finally:
                stop(process)

    @property
    def stamps(self) -> Path:
        """Arrival times in nanoseconds since 1970, one per line, in the order of the answers."""
        return self.folder / "stamps"

    def offer(self, target: str, rate: float, seconds: float = STEP_S) -> TrialSummary:
        """Offers ``rate`` for ``seconds`` and returns the summary."""
        load = Load(rates=[rate], slo=Slo.model_validate({"p99": "1s"}))
        offer = Offer(
            targets=(target,), workload=_WORKLOAD, load=load, rate=rate, clients=None, warmup_s=0.5, duration_s=seconds,
            seed=1, may_stop=False, cpus=self.generator_cpus, folder=self.folder,
        )  # fmt: skip
        return Stone().run(offer, lambda event: None)

    def arrivals(self, rate: float) -> list[float]:
        """Arrival times of a Poisson process, in seconds after the first arrival of the window."""
        with self.server() as target:
            summary = self.offer(target, rate, ARRIVALS_S)
        stamps = sorted(int(line) for line in self.stamps.read_text().split())
        measured = stamps[-(summary.counts.sent or 0) :]
        return [(stamp - measured[0]) / 1e9 for stamp in measured]


@dataclass(frozen=True)
class SelfTestRow:
    """What one rate came to; nothing in ``faults`` where it was clean. None: the generator did not measure it."""

    rate: float
    lateness_p50_ms: float | None
    lateness_p99_ms: float | None
    own_lateness_p99_ms: float | None
    cpu_us_per_request: float | None
    cpu_share: float | None
    """The share of a processor that the busiest thread used."""
    faults: tuple[str, ...]


def describe(step: RateStep) -> SelfTestRow:
    """A step as a row of the table."""
    generator, lateness = step.summary.generator, step.summary.latency_ms.lateness
    return SelfTestRow(
        rate=step.rate,
        lateness_p50_ms=lateness.p50 if lateness is not None else None,
        lateness_p99_ms=lateness.p99 if lateness is not None else None,
        own_lateness_p99_ms=generator.own_lateness_p99_ms,
        cpu_us_per_request=generator.cpu_us_per_request,
        cpu_share=generator.cpu_share,
        faults=tuple(step.faults),
    )
