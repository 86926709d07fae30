"""What tracing costs: windows with and without traced requests, by turns, within one deployment.

The services run with tracing on for every request by default; a request that is not to be traced
carries a ``traceparent`` whose sampled flag is 0 (W3C Trace Context), as one that a caller decided not to trace. So
nothing is deployed anew between the two halves of a pair, and what differs between them is the spans alone. The
quantity is the CPU of all services and stores by completed request, from their control groups; its ratio's interval is
a paired t over log ratios, and pairs are added until the interval is narrow enough or there are too many.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.special import stdtrit

from bench import frames
from bench.common import Row
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.provisioning import infrastructure_of, provide
from loadstone.model.document import Document
from loadstone.model.records.summary import TrialSummary
from loadstone.model.workload import Workload
from loadstone.workloads.base import Offer
from loadstone.workloads.stone import Stone

WINDOW_S, WARMUP_S = 5.0, 1.0
LEAST_PAIRS, MOST_PAIRS = 6, 24
LIMITS = {1.0: 0.15, 0.01: 0.02}
"""Most that tracing this share of requests may add to the CPU of a request."""
UNTRACED = {"traceparent": "00-00000000000000000000000000000001-0000000000000001-00"}


@dataclass(frozen=True)
class Cost:
    """What a share of traced requests adds to the CPU of a request: medians in us, and the ratio's 95 % interval."""

    traced_us: float
    untraced_us: float
    added: float
    low: float
    high: float
    pairs: int


def cost_of(pairs: Sequence[tuple[float, float]]) -> Cost:
    """From pairs of (traced, untraced) CPU per request; at least two."""
    logs = np.log([traced / untraced for traced, untraced in pairs])
    half = float(stdtrit(len(logs) - 1, 0.975) * np.std(logs, ddof=1) / math.sqrt(len(logs)))
    middle = float(np.mean(logs))
    traced, untraced = (statistics.median(values) for values in zip(*pairs, strict=True))
    return Cost(traced, untraced, math.expm1(middle), math.expm1(middle - half), math.expm1(middle + half), len(pairs))


def narrow_enough(cost: Cost, limit: float) -> bool:
    """Whether the interval is no wider than the limit.

    Where it lies does not count: looked at after every pair until it lies on one side, it would err too often.
    """
    return cost.high - cost.low <= limit


def holds(cost: Cost, limit: float) -> bool | None:
    """Whether tracing adds at most the limit; None where its interval holds both."""
    return None if cost.low <= limit < cost.high else cost.high <= limit


def mixed(workload: Workload, share: float) -> Workload:
    """The workload with each operation twice: traced with probability ``share``, else not."""
    operations = {}
    for name, operation in workload.operations.items():
        if share > 0:
            operations[f"{name}-traced"] = operation.model_copy(update={"weight": operation.weight * share})
        if share < 1:
            untraced = {"weight": operation.weight * (1 - share), "headers": {**operation.headers, **UNTRACED}}
            operations[name] = operation.model_copy(update=untraced)
    return workload.model_copy(update={"operations": operations})


def rows(study: dict[str, Any], rate: float, folder: Path) -> Iterator[Row]:
    """The rows of one application, whose study traces all requests."""
    title = f"{study['application']} at {rate:g}/s: "
    plan = make_plan(Document(yaml.safe_dump({**study, "traces": {"sample": 1}}), "bench/tracing"))
    with deployed(plan, folder) as running:
        for share, limit in LIMITS.items():
            pairs: list[tuple[float, float]] = []
            while len(pairs) < LEAST_PAIRS or (len(pairs) < MOST_PAIRS and not narrow_enough(cost_of(pairs), limit)):
                first = len(pairs) % 2  # which of the two goes first, so that a drift favours neither
                measured = {of: running.cpu_us(of, rate) for of in ((share, 0.0), (0.0, share))[first]}
                pairs.append((measured[share], measured[0.0]))
            cost = cost_of(pairs)
            row = Row(
                f"{title}tracing {share:.0%} of requests adds", "% CPU", 100 * cost.added, 100 * cost.low,
                100 * cost.high, "CPU us/request not traced", cost.untraced_us, cost.traced_us / cost.untraced_us,
                f"at most {limit:.0%} ({cost.pairs} pairs)", holds(cost, limit),
            )  # fmt: skip
            yield row
            if not row.holds:
                yield from running.costly_frames(title, share, rate)


@contextmanager
def deployed(plan: Plan, folder: Path) -> Iterator[Running]:
    """The plan's only treatment with its receiver of spans, removed in the end."""
    treatment = plan.treatments[0]
    infrastructure = infrastructure_of(plan.study.cluster, "bench-tracing")
    try:
        provision = provide(treatment, infrastructure, Listener())
        found = Deployed(plan.deployable(treatment), provision, "bench-tracing", folder / "deployment", observe=True)
        found.start(Listener())
        try:
            yield Running(plan, found, folder)
        finally:
            found.remove()
    finally:
        infrastructure.release()


class Running:
    """A deployment, loaded one window at a time."""

    def __init__(self, plan: Plan, of: Deployed, folder: Path) -> None:
        self._plan, self._deployed, self._folder, self._windows = plan, of, folder, 0

    def cpu_us(self, share: float, rate: float) -> float:
        """CPU of all replicas by completed request in us, with this share of the requests traced."""
        before = self._cpu_s()
        summary = self._load(share, rate)
        used = self._cpu_s() - before
        # Warm-up and window together: the counters are read around both, when nothing is in flight.
        completed = sum(part.all.completed for part in summary.operations if part.all is not None)
        return 1e6 * used / float(completed)

    def costly_frames(self, title: str, share: float, rate: float) -> Iterator[Row]:
        """The functions of tracing in most samples of the services' stacks, where ``perf`` is installed."""
        with frames.recording(self._folder / "perf.data", WARMUP_S + WINDOW_S) as found:
            self._load(share, rate)
        for name, part in found():
            yield Row(f"{title}{share:.0%} traced, samples in {name}", "% of samples", 100 * part)

    def _cpu_s(self) -> float:
        time.sleep(0.3)  # what the last requests left to do
        return math.fsum(usage.cpu_s for usage in self._deployed.orchestrator.usage().values())

    def _load(self, share: float, rate: float) -> TrialSummary:
        workload = self._deployed.workload()
        assert isinstance(workload, Workload)
        self._windows += 1
        folder = self._folder / str(self._windows)
        folder.mkdir(parents=True)
        offer = Offer(
            targets=tuple(self._deployed.targets()), workload=mixed(workload, share), load=self._plan.study.load,
            rate=rate, clients=None, warmup_s=WARMUP_S, duration_s=WINDOW_S, seed=self._windows, may_stop=False,
            cpus=(), folder=folder,
        )  # fmt: skip
        orchestrator = self._deployed.orchestrator
        self._deployed.observation.begin(orchestrator, folder)
        try:
            return Stone().run(offer, lambda event: None)
        finally:
            self._deployed.observation.end(orchestrator, None, None)
