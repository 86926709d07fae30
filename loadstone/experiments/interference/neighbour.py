"""Another application beside the measured one: deployed with it, loaded in each of its trials by its own generator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.analysis import recorded_requests
from loadstone.analysis.known import total
from loadstone.applications import catalogue
from loadstone.applications.catalogue import LoadedApplication
from loadstone.experiments import replica_logs
from loadstone.experiments.deployment import Deployed, orchestrate
from loadstone.experiments.interference.base import Interference, disturbed, write
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Deployable
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Provision
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.interference import Neighbour
from loadstone.model.load import Load
from loadstone.model.placement import Placement
from loadstone.model.records.interference import Disturbance, NeighbourLoad, NeighbourReading
from loadstone.model.records.observed import MeasuredWindow
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings
from loadstone.model.trial import Treatment
from loadstone.monitoring.replicas import UsageWindow
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.resolve import refuse_impossible
from loadstone.workloads.base import DriverError, Offer
from loadstone.workloads.members import members

_FOLDER = "neighbour"
"""In the folders of the deployment and of each trial."""


class OtherApplication(Interference):
    """``deployable``: of the other application, whose replicas may be on any worker; ``folder``: of its deployment."""

    def __init__(self, wanted: Neighbour, deployable: Deployable, provision: Provision, folder: Path) -> None:
        self._wanted = wanted
        self._deployable = deployable
        self._provision = provision
        self._files = folder / _FOLDER
        self._deployed: Deployed | None = None
        self._trial: _Trial | None = None
        self.problems = ()

    @property
    def _name(self) -> str:
        return self._deployable.application.name

    def deploy(self, deployment: Deployment, listener: Listener) -> None:
        listener.step(f"deploying {self._name} beside it")
        where = disturbed(self._wanted.on, deployment, {})
        name = journal.neighbour_name(deployment.name)
        deployed = Deployed(placed(self._deployable, where), self._provision, name, self._files)
        try:
            deployed.start(listener)
        except DeploymentError as error:
            raise DeploymentError(f"interference: {self._name}: {error}") from None
        self._deployed = deployed

    def reset(self, listener: Listener) -> None:
        if self._deployed is not None:
            self._deployed.reset(listener)

    def events(self) -> list[str]:
        events = self._deployed.orchestrator.events() if self._deployed is not None else []
        return [f"interference: {self._name}: {event}" for event in events]

    def start(self, orchestrator: Orchestrator, folder: Path, longest_s: float) -> None:
        if self._deployed is None:
            raise DeploymentError(f"interference: {self._name} is not deployed")
        self.problems = ()
        trial = _Trial(self._wanted, self._deployed, folder)
        trial.start(longest_s)
        self._trial = trial

    def begin_window(self) -> None:
        if self._trial is not None:
            self._trial.begin_window()

    def end_window(self) -> None:
        if self._trial is not None:
            self._trial.end_window()

    def stop(self) -> None:
        if self._trial is not None:
            trial, self._trial = self._trial, None
            self.problems = trial.stop()

    def remove(self) -> None:
        if self._trial is not None:
            self._trial.generator.end()
            self._trial = None
        if self._deployed is not None:
            self._deployed.remove()
            self._deployed = None


class _Trial:
    """The load of one trial: ``start``, the window's two edges, ``stop``."""

    def __init__(self, wanted: Neighbour, deployed: Deployed, folder: Path) -> None:
        self._wanted = wanted
        self._deployed = deployed
        self._folder = folder
        self._usage = UsageWindow(deployed.orchestrator)
        self._from_ns: int | None = None
        self._to_ns: int | None = None
        self._problems: tuple[str, ...] = ()
        self.generator: Any = None

    @property
    def _name(self) -> str:
        return self._deployed.deployment.application

    def start(self, longest_s: float) -> None:
        """Start the generator, and return when it sends. Raises DeploymentError."""
        folder = self._folder / _FOLDER
        folder.mkdir(exist_ok=True)
        # The measured load has the first clients, and the first of their cores.
        clients = [node for node in self._deployed.deployment.nodes if node.role == "client"][::-1]
        load = Load(arrival="constant", rates=[self._wanted.rate], wait="tick", record_requests=True)
        self.generator = plugins.find("interference", "application")(
            Offer(
                targets=tuple(self._deployed.targets()),
                workload=self._deployed.workload(),
                load=load,
                rate=self._wanted.rate,
                clients=None,
                warmup_s=0.0,
                duration_s=longest_s,
                seed=load.seed,
                may_stop=False,
                cpus=clients[0].cpus[::-1] if clients else (),
                folder=folder,
                members=members(load, clients),
            )
        )
        try:
            self.generator.start()
        except DriverError as error:
            raise DeploymentError(f"interference: the load generator of {self._name}: {error}") from None

    def begin_window(self) -> None:
        """Read what its replicas have used until now."""
        self._usage.start()
        self._from_ns = time.time_ns()

    def end_window(self) -> None:
        """Read again, and note whether its generator still sends."""
        if self._to_ns is None:
            self._to_ns = time.time_ns()
            self._usage.finish()
            if ended := self.generator.problem():
                self._problems = (f"interference: the load generator of {self._name} {ended}",)

    def stop(self) -> tuple[str, ...]:
        """End the load and write what it was; returns why it did not last, in sentences."""
        self.end_window()
        requests = self.generator.end()
        replica_logs.write(self._deployed.orchestrator, self._folder / _FOLDER / "logs")
        load = self._load(requests)
        disturbance = Disturbance(
            level=str(self._wanted), readings=tuple(self._readings()), load=load, problems=self._problems
        )
        write(self._folder, disturbance)
        return self._problems

    def _load(self, requests: Sequence[Path]) -> NeighbourLoad | None:
        if self._from_ns is None or self._to_ns is None or not requests:
            return None
        window = MeasuredWindow(from_ns=self._from_ns, to_ns=self._to_ns)
        workload = self._deployed.treatment.settings.workload or ""
        return recorded_requests.within(requests, window, self._name, workload, self._wanted.rate)

    def _readings(self) -> list[NeighbourReading]:
        """What its replicas on each node used together."""
        rows = self._usage.rows()
        by_node = {node: [row for row in rows if row.node == node] for node in dict.fromkeys(row.node for row in rows)}
        return [
            NeighbourReading(
                name=self._name,
                node=node,
                window_s=there[0].window_s,
                cpu_s=round(sum(row.cpu_s for row in there), 6),
                memory=total(row.memory for row in there),
            )
            for node, there in by_node.items()
        ]


def beside(measured: Deployable, loaded: LoadedApplication, wanted: Neighbour) -> Deployable:
    """The other application, deployed as the ``measured`` one is, with its own defaults in all else."""
    application, theirs = loaded.application, measured.treatment.settings
    workload = wanted.workload or application.default_workload
    dataset = application.default_dataset
    same = {name: getattr(theirs, name) for name in ("orchestrator", "environment", "documents")}
    settings = Settings().model_copy(update={**same, "workload": workload, "dataset": dataset, "metrics": None})
    return replace(
        measured,
        treatment=Treatment(
            application=application.name,
            application_digest=loaded.digest,
            settings=settings,
            resources=wanted.resources,
        ),
        application=application,
        stacks=Stacks(),
        workload=application.workloads[workload],
        dataset=application.datasets[dataset].keys if dataset is not None else {},
        replaced=tuple(catalogue.replaced(application)),
        beside=True,
    )


def placed(deployable: Deployable, nodes: Sequence[Node]) -> Deployable:
    """With all replicas on these nodes."""
    names = [node.name for node in nodes]
    placement = Placement(services=dict.fromkeys(deployable.application.services, names))
    settings = deployable.treatment.settings.model_copy(update={"placement": placement})
    return replace(deployable, treatment=deployable.treatment.model_copy(update={"settings": settings}))


def findings(
    wanted: Neighbour, deployable: Deployable, deployment: Deployment, provision: Provision, folder: Path
) -> list[Finding]:
    """What is missing to deploy it beside ``deployment``. Raises LoadstoneError where its limits fit no node."""
    where = placed(deployable, disturbed(wanted.on, deployment, {}))
    orchestrator = orchestrate(where, provision, "preflight", folder)
    refuse_impossible(orchestrator.deployment)
    return orchestrator.preflight()
