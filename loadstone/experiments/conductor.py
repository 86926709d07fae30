"""Conducts a study: takes the next trial, leads it through its life, writes it down; until none is left."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.applications import checking
from loadstone.experiments import runs, schedule
from loadstone.experiments.deployed import Deployed
from loadstone.experiments.ledger import Ledger, Record, write_json, writing
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import Provider
from loadstone.experiments.row import make_row
from loadstone.experiments.verdict import Verdict, invalid, judge
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Infrastructure
from loadstone.infrastructure.tuning import Host
from loadstone.model.deployment import AuditRow
from loadstone.model.errors import DeploymentError, TrialsInvalid
from loadstone.model.trial import Trial
from loadstone.monitoring.replicas import Window
from loadstone.workloads.base import Driver, DriverError, Offer


class Conductor:
    """Runs what is left of a plan into a run folder. It knows the layers only by their abstract classes."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        infrastructure: Infrastructure,
        driver: Driver,
        listener: Listener,
        host: Host | None = None,
    ) -> None:
        self._plan = plan
        self._ledger = ledger
        self._provider = Provider(plan, infrastructure, listener, host or Host())
        self._driver = driver
        self._listener = listener
        self._deployed: Deployed | None = None

    def run(self) -> None:
        """Run to the end. Whatever ends it, nothing that was started is left and finished trials stay."""
        try:
            while (trial := schedule.next_trial(self._plan, self._ledger.records)) is not None:
                self._listener.trial_started(trial, schedule.remaining(self._plan, self._ledger.records))
                record = self._run_trial(trial)
                self._listener.trial_finished(record)
                if record.outcome.verdict == "invalid" and self._plan.study.trial.on_invalid == "stop":
                    reasons = "; ".join(record.row["reasons"])
                    raise TrialsInvalid(f"stopped as trial.on_invalid asks: trial {trial.id} is invalid: {reasons}")
        finally:
            self._give_back()

    def _run_trial(self, trial: Trial) -> Record:
        folder = self._ledger.trial_folder(trial)
        started = datetime.now(UTC)
        summary: dict[str, Any] | None = None
        try:
            deployed = self._deploy(trial)
            with writing(folder):
                summary, verdict = self._measure(trial, deployed, folder)
        except DeploymentError as error:
            if not self._ledger.records:  # nothing has worked yet: the user is better off knowing now
                raise
            verdict = invalid(f"the deployment failed: {error}", *self._events())
        warnings = list(self._deployed.deployment.warnings) if self._deployed else []
        if verdict.verdict == "invalid" and self._events():  # the next trial needs a whole deployment
            if self._provider.problems():  # and a whole cluster
                self._give_back()
            else:
                self._remove()
        return self._finish(trial, started, summary, verdict, warnings)

    def _events(self) -> list[str]:
        return [*self._provider.problems(), *(self._deployed.orchestrator.events() if self._deployed else [])]

    def _deploy(self, trial: Trial) -> Deployed:
        """The trial's treatment, deployed; reused when it is the one that runs."""
        if self._deployed is not None and self._deployed.treatment.id == trial.treatment.id:
            return self._deployed
        if self._provider.serves(trial.treatment):
            self._remove()
        else:
            self._give_back()
        provision = self._provider.provide(trial.treatment)
        name = f"{self._plan.study.name}-{self._ledger.folder.name}-{trial.treatment.id[:6]}"
        folder = self._ledger.folder / "deployments" / trial.treatment.id
        deployed = Deployed(self._plan, trial.treatment, provision, name, folder)
        with writing(folder):
            deployed.start(self._listener)
            runs.add_software(self._ledger.folder, deployed.orchestrator.versions(), deployed.images())
            runs.add_tuning(self._ledger.folder, trial.treatment.label, self._provider.tuned)
        self._deployed = deployed
        if self._plan.study.trial.reset == "per-treatment":
            deployed.seeder.reset(self._listener.step)
        return deployed

    def _remove(self) -> None:
        if self._deployed is not None:
            self._listener.step("removing the deployment")
            self._deployed.remove()
            self._deployed = None

    def _give_back(self) -> None:
        """Remove the deployment, then the cluster; a cluster of ours takes what is deployed on it along at once."""
        try:
            if self._deployed is None or not self._provider.takes_along:
                self._remove()
                return
            self._listener.step("removing the cluster")
            self._provider.release()
            journal.forget(self._deployed.deployment.name)
            self._deployed = None
        finally:
            self._provider.release()

    def _measure(self, trial: Trial, deployed: Deployed, folder: Path) -> tuple[dict[str, Any] | None, Verdict]:
        """Audit, reset, load, check, audit again; each writes its file."""
        orchestrator = deployed.orchestrator
        audit = self._audit(deployed, folder)
        if audit:
            return None, invalid(*audit)
        if self._plan.study.trial.reset == "per-trial":
            self._listener.step("resetting state")
            deployed.seeder.reset(self._listener.step)
        before = deployed.seeder.counts()
        self._listener.step("loading")
        window = Window(orchestrator)

        def progress(said: dict[str, Any]) -> None:
            window.follow(said.get("phase", ""))
            self._listener.progress(said)

        offer = self._offer(trial, deployed, folder)
        try:
            summary = self._driver.run(offer, progress)
        except DriverError as error:
            deployed.seeder.loaded(None)
            return None, invalid(f"the load generator failed: {error}", *self._events())
        finally:
            self._write_logs(deployed, folder)
        self._listener.step("collecting")
        write_json(folder / "usage.json", window.rows())
        deployed.seeder.loaded(checking.unfinished(offer.workload, summary))
        if events := self._events():
            return summary, invalid(*events)
        checks: list[checking.CheckRow | checking.ContentRow] = [
            *checking.check(self._plan.application, before, deployed.seeder.counts(), summary),
            *checking.among_stores(deployed.seeder.check()),
        ]
        write_json(folder / "checks.json", [asdict(row) for row in checks])
        wrong = [*self._audit(deployed, folder), *(row.message for row in checks if not row.ok)]
        load = self._plan.study.load
        return summary, judge(summary, load.objective, wrong, lateness_s=load.lateness)

    def _offer(self, trial: Trial, deployed: Deployed, folder: Path) -> Offer:
        return Offer(
            targets=tuple(deployed.targets()),
            workload=deployed.workload(),
            load=self._plan.study.load,
            rate=trial.rate,
            clients=trial.clients,
            warmup_s=trial.warmup_s,
            duration_s=trial.duration_s,
            seed=trial.seed,
            # A fixed load is asked for to see what happens there; only a search may cut a lost trial short.
            may_stop=trial.phase not in ("fixed", "closed"),
            cpus=next((node.cpus for node in self._provider.provision.nodes if node.role == "client"), ()),
            folder=folder,
        )

    def _audit(self, deployed: Deployed, folder: Path) -> list[str]:
        """Write what the audit read; return what is not as wanted, as sentences."""
        rows: list[AuditRow] = deployed.orchestrator.audit()
        write_json(folder / "audit.json", [{**row.model_dump(), "ok": row.ok} for row in rows])
        return [
            f"audit: {row.replica} on {row.node} has {row.what} {row.effective}, wanted {row.wanted}"
            for row in rows
            if not row.ok
        ]

    def _write_logs(self, deployed: Deployed, folder: Path) -> None:
        (folder / "logs").mkdir(exist_ok=True)
        for replica, text in deployed.orchestrator.logs(lines=200).items():
            (folder / "logs" / f"{replica}.log").write_text(text, encoding="utf-8")

    def _finish(
        self, trial: Trial, started: datetime, summary: dict[str, Any] | None, verdict: Verdict, warnings: list[str]
    ) -> Record:
        emulated = any(node.emulated for node in self._provider.provision.nodes)
        row = make_row(trial, started, summary, verdict, warnings, emulated)
        return self._ledger.finish(trial, row, json.loads(json.dumps(asdict(verdict))))
