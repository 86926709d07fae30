"""Conducts a study: runs trial after trial and records each in the ledger, until none is left."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import UTC, datetime

from loadstone.experiments import durations, predicting, pruning, runs, schedule
from loadstone.experiments.deployment import Deployed
from loadstone.experiments.disk_space import DiskSpace
from loadstone.experiments.durable import recording
from loadstone.experiments.durations import Outlook
from loadstone.experiments.interference.chosen import interference_of
from loadstone.experiments.ledger import FinishedTrial, Ledger
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import Provider, entry_ports
from loadstone.experiments.row import make_row
from loadstone.experiments.trial_runner import Measured, TrialRunner
from loadstone.experiments.verdict import invalid
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Infrastructure
from loadstone.model.errors import DeploymentError, Interrupted, TrialsInvalid
from loadstone.model.trial import Trial
from loadstone.model.units import format_seconds
from loadstone.workloads.base import Driver


class Conductor:
    """Runs the remaining trials of a plan into a run folder. It uses the layers only through their abstract classes."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        infrastructure: Infrastructure,
        driver: Driver,
        listener: Listener,
        keep: bool = False,
    ) -> None:
        self._plan = plan
        self._ledger = ledger
        self._provider = Provider(infrastructure, listener, keep, entry_ports(own.application for own in plan.own))
        self._driver = driver
        self._listener = listener
        self._disk_space = DiskSpace(ledger.folder, listener)
        self._deployed: Deployed | None = None
        self._deployed_for: tuple[object, ...] = ()
        self._filled_for = ""
        """The treatment for which the stores were emptied and filled, where that is done per treatment."""

    def run(self) -> None:
        """Run to the end. However the run ends, everything that it started is removed and finished trials stay."""
        try:
            while (trial := self._next_trial()) is not None:
                ahead = self._outlook(trial)
                self._disk_space.require(ahead.trials)
                self._listener.trial_started(trial, ahead)
                self._pause(trial)
                record = self._run_trial(trial)
                self._listener.trial_finished(record)
                if record.outcome.verdict == "invalid" and self._plan.study.trial.on_invalid == "stop":
                    reasons = "; ".join(record.row.reasons)
                    raise TrialsInvalid(f"stopped by trial.on_invalid: trial {trial.id} is invalid: {reasons}")
        finally:
            try:
                self._end()
            except Interrupted:  # in the middle of it: it is done whole, then the run ends
                self._end()
                raise

    def _outlook(self, trial: Trial) -> Outlook:
        foretold = pruning.foretold(self._ledger.folder)
        standing = self._deployed_for if self._deployed is not None else ()
        return durations.outlook(self._plan, self._ledger.records, trial, standing, foretold)

    def _next_trial(self) -> Trial | None:
        """The next trial, chosen after every possible prediction is registered."""
        for prediction in predicting.foretell(self._plan, self._ledger):
            self._listener.step(prediction)
        return schedule.next_trial(self._plan, self._ledger.records, pruning.foretold(self._ledger.folder))

    def _pause(self, trial: Trial) -> None:
        pause_s = self._plan.of(trial.treatment).study.trial.pause
        if pause_s > 0 and self._ledger.records:
            self._listener.step(f"pausing for {format_seconds(pause_s)}")
            time.sleep(pause_s)

    def _run_trial(self, trial: Trial) -> FinishedTrial:
        folder = self._ledger.trial_folder(trial)
        started = datetime.now(UTC)
        try:
            deployed = self._deploy(trial)
            with recording(folder):
                own = self._plan.of(trial.treatment)
                reset = own.study.trial.reset
                events = self._events_of_application
                load, waits = own.study.load, self._plan.waiting
                runner = TrialRunner(own.application, load, waits, reset, self._driver, self._listener, events)
                measured = runner.run(trial, deployed, folder)
        except DeploymentError as error:
            if (
                not self._ledger.records
            ):  # No trial has finished yet: most likely every deployment would fail, so the run ends now.
                raise
            measured = Measured(invalid(f"the deployment failed: {error}", *self._events()))
        warnings = list(self._deployed.orchestrator.deployment.warnings) if self._deployed else []
        if measured.verdict.verdict == "invalid" and self._events():  # The next trial needs a complete deployment
            if self._provider.problems():  # and a complete cluster.
                self._give_back()
            else:
                self._remove()
        return self._finish(trial, started, measured, warnings)

    def _events(self) -> list[str]:
        beside = self._deployed.interference.events() if self._deployed else []
        return [*self._events_of_application(), *beside]

    def _events_of_application(self) -> list[str]:
        events = [*self._provider.problems(), *(self._deployed.events() if self._deployed else [])]
        return list(dict.fromkeys(events))  # A lost host is reported as both.

    def _deploy(self, trial: Trial) -> Deployed:
        """What the trial's treatment is deployed as; reused if it is already running."""
        wanted = schedule.deployed_for(self._plan, trial)
        deployed = self._deployed if self._deployed_for == wanted else None
        if deployed is None:
            self._deployed_for, self._filled_for = wanted, ""
            deployed = self._deploy_anew(trial)
        resets = self._plan.of(trial.treatment).study.trial.reset
        if resets == "per-treatment" and self._filled_for != trial.treatment.id:
            self._filled_for = ""  # what fails half way is done again
            deployed.reset(self._listener)
            self._filled_for = trial.treatment.id
        return deployed

    def _deploy_anew(self, trial: Trial) -> Deployed:
        """In place of what is deployed, and of the cluster where the treatment needs another."""
        cluster = self._plan.of(trial.treatment).study.cluster
        if self._provider.serves(trial.treatment, cluster):
            self._remove()
        else:
            self._give_back()
        provision = self._provider.provide(trial.treatment, cluster)
        name = f"{self._plan.study.name}-{runs.name_of(self._ledger.folder)}-{trial.treatment.id[:6]}"
        folder = self._ledger.folder / "deployments" / trial.treatment.id
        disturbing = interference_of(self._plan, trial.treatment, provision, folder)
        deployed = Deployed(self._plan.deployable(trial.treatment), provision, name, folder, True, disturbing)
        before = deployed.images()  # of this treatment's last deployment, also before a run was resumed
        with recording(folder):
            deployed.start(self._listener)
            self._deployed = deployed  # before anything else can fail
            runs.add_software(self._ledger.folder, deployed.orchestrator.versions(), deployed.images())
            self._note_other_images(trial.treatment.label, before, deployed.images())
            runs.add_made(self._ledger.folder, provision.nodes)
            runs.add_tuning(self._ledger.folder, trial.treatment.label, self._provider.tuned)
        return deployed

    def _note_other_images(self, treatment: str, before: dict[str, str], now: dict[str, str]) -> None:
        """Warn of images with another content: the treatment's trials before and after are of different software."""
        found = [
            f"{treatment}: image {what}: {before[what]} in earlier trials, {image} from now on"
            for what, image in now.items()
            if before.get(what, image) != image
        ]
        for sentence in found:
            self._listener.note(sentence)
        runs.add_warnings(self._ledger.folder, found)

    def _remove(self) -> None:
        if self._deployed is not None:
            try:
                if self._deployed.orchestrator.deploys:
                    self._listener.step("removing the deployment")
            finally:  # whatever a listener raises
                self._deployed.remove()
            self._deployed = None

    def _give_back(self) -> None:
        """Remove the deployment, then the cluster. Removing a cluster of Loadstone's removes its deployments."""
        try:
            if self._deployed is None or not self._provider.takes_along:
                self._remove()
                return
            try:
                self._listener.step("removing the cluster")
            finally:
                self._provider.release()
            self._deployed.observation.stop()
            for name in (self._deployed.deployment.name, journal.neighbour_name(self._deployed.deployment.name)):
                journal.forget(name)
            self._deployed = None
        finally:
            self._provider.release()

    def _end(self) -> None:
        try:
            self._give_back()
        finally:
            self._provider.give_back()

    def _finish(self, trial: Trial, started: datetime, measured: Measured, warnings: list[str]) -> FinishedTrial:
        nodes = self._provider.provision.nodes
        services = self._plan.deployable(trial.treatment).application.services.values()
        documents = any(service.runs.documents for service in services)
        row = make_row(trial, self._ledger.last + 1, started, measured, warnings, nodes, documents)
        record = self._ledger.finish(trial, row, json.loads(json.dumps(asdict(measured.verdict))))
        self._disk_space.left(self._ledger.trial_folder(trial))
        return record
