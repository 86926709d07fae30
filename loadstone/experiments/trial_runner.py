"""One trial of a deployment that runs: audit, reset, load, collect, check, judge; each writes its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from loadstone.analysis.known import mean_of_all
from loadstone.analysis.metrics.machine import NOT_RECORDED, MachineState, machine_state
from loadstone.analysis.usage import cpu_capacity
from loadstone.applications import checking
from loadstone.applications.seeding import Counts
from loadstone.experiments import replica_logs
from loadstone.experiments.channels import Channels
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.durable import write_json
from loadstone.experiments.listener import Listener
from loadstone.experiments.verdict import Verdict, invalid, judge
from loadstone.experiments.wall_clock import WallClocks
from loadstone.model.application import Application
from loadstone.model.errors import DeploymentError
from loadstone.model.load import Load
from loadstone.model.records.audit import AuditRow, Check
from loadstone.model.records.observed import MeasuredWindow, Observed
from loadstone.model.records.summary import TrialSummary
from loadstone.model.trial import Trial
from loadstone.monitoring import observation
from loadstone.monitoring.replicas import UsageWindow
from loadstone.orchestration import stacks
from loadstone.workloads.base import Driver, DriverError, Offer, deadline_s
from loadstone.workloads.members import members
from loadstone.workloads.waiting import Waiting


@dataclass(frozen=True)
class Measured:
    """What a trial left: the driver's summary, what was observed beside it, and the verdict."""

    verdict: Verdict
    summary: TrialSummary | None = None
    observed: Observed | None = None
    reference_ms: tuple[float | None, float | None] = (None, None)
    """The time of the reference loop, right before the load and after it: how fast the machine was."""
    cpu_capacity: float | None = None
    """Requests/s at which the busiest service would use all of its CPU; None where nothing says."""
    environment: str | None = None
    """What its replicas ran in, as the audit found it; None where nothing was deployed."""
    machine: MachineState = NOT_RECORDED


_WAIT_S = 3.0
"""For a store's answer after something stopped working: what it held is out of reach, if not lost."""


class TrialRunner:
    """Runs trials of deployments. ``events``: of the application, replicas and nodes that stopped working, as
    sentences."""

    def __init__(
        self,
        application: Application,
        load: Load,
        waiting: Waiting,
        reset: str,
        driver: Driver,
        listener: Listener,
        events: Callable[[], list[str]],
    ) -> None:
        self._application = application
        self._offered = load
        self._waiting = waiting
        self._reset = reset
        self._driver = driver
        self._listener = listener
        self._events = events

    def run(self, trial: Trial, deployed: Deployed, folder: Path) -> Measured:
        """Run one trial into ``folder``; what fails makes it invalid."""
        audit = _audit(deployed, folder)
        wrong = mismatches(audit)
        missing: tuple[str, ...] = ()
        if wrong:
            measured = Measured(invalid(*wrong))
        else:
            try:
                measured = self._measure(trial, deployed, folder)
            finally:
                missing = replica_logs.write(deployed.orchestrator, folder / "logs")
        verdict = replace(measured.verdict, warnings=(*measured.verdict.warnings, *missing))
        found = dict.fromkeys(row.effective for row in audit if row.what == "environment")
        return replace(
            measured, verdict=verdict, environment=", ".join(found) or deployed.treatment.settings.environment
        )

    def _measure(self, trial: Trial, deployed: Deployed, folder: Path) -> Measured:
        clocks = WallClocks(deployed.orchestrator.deployment.nodes)
        if self._reset == "per-trial":
            self._listener.step("resetting state")
            deployed.reset(self._listener)
        before = deployed.seeder.counts()
        window = UsageWindow(deployed.orchestrator)
        offer = self._offer(trial, deployed, folder, window)
        channels = Channels(deployed.orchestrator.deployment.nodes)
        try:
            before_ms = self._driver.reference_ms()
            summary, observed = self._load(offer, deployed, window)
            reference = _reference(summary) or (before_ms, self._driver.reference_ms())
        except DriverError as error:
            deployed.seeder.loaded(None)
            events = [*self._events(), *channels.lost(), *deployed.interference.events()]
            return Measured(invalid(f"the load generator failed: {error}", *events))
        used = window.rows()
        write_json(folder / "usage.json", [reading.model_dump() for reading in used])
        write_json(folder / observation.FILE, observed.model_dump())
        deployed.seeder.loaded(checking.unfinished(offer.workload, summary))
        if events := [*self._events(), *channels.lost()]:
            events += self._lost(before, deployed, summary)
        if events := [*events, *deployed.interference.events(), *deployed.interference.problems]:
            return Measured(invalid(*events), summary, observed, reference)
        checks: list[Check] = [
            *checking.check(self._application, before, deployed.seeder.counts(), summary),
            *checking.among_stores(deployed.seeder.check()),
        ]
        write_json(folder / "checks.json", [row.model_dump() for row in checks])
        wrong = [*mismatches(_audit(deployed, folder)), *(row.message for row in checks if not row.ok)]
        verdict = judge(summary, self._offered.objective, wrong, lateness_s=self._offered.lateness)
        doubts = (*verdict.warnings, *observed.problems, *channels.managers_lost(), *clocks.warnings())
        capacity = cpu_capacity(used, summary.throughput) if summary.aborted is None else None
        stopped_s = summary.aborted.at_s if summary.aborted is not None else None
        return Measured(
            replace(verdict, warnings=doubts),
            summary,
            observed,
            reference,
            capacity,
            machine=machine_state(folder, observed, stopped_s),
        )

    def _lost(self, before: Counts, deployed: Deployed, summary: TrialSummary) -> list[str]:
        """What the stores do not hold any more after something stopped working, as sentences."""
        if not before:
            return []
        self._listener.step("counting what is left")
        try:
            return checking.lost(self._application, before, deployed.seeder.counts(_WAIT_S), summary)
        except DeploymentError:  # of what stopped working, which is a reason already
            return checking.lost(self._application, before, None, summary)

    def _load(self, offer: Offer, deployed: Deployed, window: UsageWindow) -> tuple[TrialSummary, Observed]:
        """Offer the load and observe what it does; returns the summary and what was observed."""
        summary: TrialSummary | None = None
        deployed.interference.start(deployed.orchestrator, offer.folder, deadline_s(offer))
        deployed.observation.begin(deployed.orchestrator, offer.folder)
        self._listener.step("loading")
        try:
            summary = self._driver.run(offer, self._listener.progress)
        finally:  # a trial that failed ends too, for its observers
            window.finish()
            deployed.interference.stop()
            self._listener.step("collecting")
            span, sent = _window_ns(summary, window), _sent(summary)
            observed = deployed.observation.end(deployed.orchestrator, span, sent)
        return summary, observed

    def _offer(self, trial: Trial, deployed: Deployed, folder: Path, window: UsageWindow) -> Offer:
        load = self._offered
        clients = [node for node in deployed.deployment.nodes if node.role == "client"]
        return Offer(
            targets=tuple(deployed.targets()),
            workload=deployed.workload(),
            load=load,
            rate=trial.rate,
            clients=trial.clients,
            warmup_s=trial.warmup_s,
            duration_s=trial.duration_s,
            seed=trial.seed,
            # A fixed load is there to see what happens at it, and one for the capacity model likewise; only a
            # search may cut a lost trial short.
            may_stop=trial.phase not in ("fixed", "closed", "model"),
            cpus=clients[0].cpus if clients else (),
            folder=folder,
            requests=trial.requests,
            warmup_requests=trial.warmup_requests,
            waiting=self._waiting,
            metrics=stacks.load_metrics(deployed.deployment),
            members=members(load, clients),
            window_begins=_both(window.start, deployed.interference.begin_window),
            window_ends=_both(window.stop, deployed.interference.end_window),
        )


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        first()
        second()

    return call


def _window_ns(summary: TrialSummary | None, window: UsageWindow) -> MeasuredWindow | None:
    """The measured window by the wall clock, as the driver reports it; of one that failed, as counters were read."""
    if summary is None:
        return window.seen_ns()
    started = datetime.fromisoformat(summary.started).timestamp()
    if summary.driver is None:  # other tools are run anew after the warm-up
        started += summary.began_s
    return MeasuredWindow(from_ns=round(1e9 * started), to_ns=round(1e9 * (started + summary.window_s)))


def _reference(summary: TrialSummary) -> tuple[float, float] | None:
    """The mean of the reference loop's times on the generating hosts, before the load and after it; None where this
    machine generates it alone, or where a host has not timed both."""
    before = mean_of_all(worker.reference_before_ms for worker in summary.generator.workers)
    after = mean_of_all(worker.reference_after_ms for worker in summary.generator.workers)
    return (before, after) if before is not None and after is not None else None


def _sent(summary: TrialSummary | None) -> int | None:
    """All requests that were sent, in the warm-up too; None where the driver does not tell."""
    operations = summary.operations if summary is not None else ()
    sent = [operation.all.sent if operation.all is not None else None for operation in operations]
    return sum(count or 0 for count in sent) if sent and None not in sent else None


def _audit(deployed: Deployed, folder: Path) -> list[AuditRow]:
    """What the audit reads, which is written as well."""
    rows: list[AuditRow] = deployed.orchestrator.audit()
    write_json(folder / "audit.json", [row.model_dump() for row in rows])
    return rows


def mismatches(rows: list[AuditRow]) -> list[str]:
    """What is not as wanted, as sentences."""
    return [
        f"audit: {row.replica} on {row.node} has {row.what} {row.effective}, requested {row.wanted}"
        for row in rows
        if not row.ok
    ]
