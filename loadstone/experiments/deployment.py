"""One treatment, deployed: the layers below, put together for the life of a few trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from loadstone.applications import catalogue, data_commands
from loadstone.applications.seeding import Seeder
from loadstone.experiments.interference.base import Interference
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Deployable
from loadstone.infrastructure.base import Finding, Provision
from loadstone.infrastructure.binary import stone_binary
from loadstone.model import address
from loadstone.model.application import Entry
from loadstone.model.cluster import Node
from loadstone.model.dataset import is_seeded, resolved
from loadstone.model.deployment import Deployment
from loadstone.model.trial import Treatment
from loadstone.model.workload import Workload
from loadstone.monitoring.observation import Observation, observation_of
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.external import kind_of
from loadstone.orchestration.resolve import refuse_impossible, resolve
from loadstone.orchestration.variables import delayed


def resolve_treatment(deployable: Deployable, nodes: Sequence[Node], name: str) -> Deployment:
    """The deployment of a treatment on these nodes; pure."""
    treatment = deployable.treatment
    if deployable.application.url is not None:
        return _external(deployable, nodes, name)
    deployment = resolve(
        application=deployable.application,
        settings=treatment.settings,
        nodes=list(nodes),
        resources=treatment.resources,
        catalogue=catalogue.software().model_copy(update={"replaced": deployable.replaced}),
        name=name,
        beside=deployable.stacks,
    )
    deployment = delayed(deployment, treatment.settings.delays)
    if deployable.environment is not None:
        deployment = deployment.model_copy(update={"environment": deployable.environment})
    if deployable.beside:
        deployment = deployment.model_copy(update={"beside": True})
    if deployable.packaged:
        return deployment
    official = {name: software.container.image for name, software in deployment.software.items()}
    return deployment.model_copy(update={"images": deployment.images | official})


def _external(deployable: Deployable, nodes: Sequence[Node], name: str) -> Deployment:
    """What someone else deployed, as a deployment: where requests enter, and no replicas."""
    application, settings = deployable.application, deployable.treatment.settings
    return Deployment(
        name=name,
        application=application.name,
        profile=settings.profile,
        documents=settings.documents,
        entry=application.entry,
        entries=(application.entry,),
        nodes=tuple(nodes),
        replicas=(),
        software={},
        external=application.url or "",
    )


def orchestrate(deployable: Deployable, provision: Provision, name: str, folder: Path) -> Orchestrator:
    """The treatment's orchestrator, with nothing started yet; with limits that no node can give it is not refused."""
    deployment = resolve_treatment(deployable, provision.nodes, name)
    return _orchestrator(deployment, deployable.treatment, provision, folder)


def _orchestrator(deployment: Deployment, treatment: Treatment, provision: Provision, folder: Path) -> Orchestrator:
    deployment = stacks.sending_spans(deployment, treatment.settings.traces)
    kind = kind_of(treatment.settings.orchestrator)
    orchestrator: Orchestrator = kind(deployment, folder, provision.access)
    return orchestrator


class Deployed:
    """A running treatment: ``start`` it, use it for trials, ``remove`` it.

    ``observe``: what its settings ask to observe is started with it. Raises DeploymentError where that cannot start.
    ``interference``: what disturbs its trials.
    """

    def __init__(
        self,
        deployable: Deployable,
        provision: Provision,
        name: str,
        folder: Path,
        observe: bool = False,
        interference: Interference | None = None,
    ) -> None:
        self.treatment = treatment = deployable.treatment
        self.folder = folder
        self.interference = interference or Interference()
        self._workload = deployable.workload
        self._application = deployable.application
        deployment = resolve_treatment(deployable, provision.nodes, name)
        self.observation = observation_of(treatment.settings, deployment) if observe else Observation()
        self.observation.start()
        try:
            prepared = self.observation.prepare(deployment)
            self.orchestrator = _orchestrator(prepared, treatment, provision, folder)
            self.deployment = self.orchestrator.deployment
            refuse_impossible(self.deployment)
            self.seeder = Seeder(
                stone_binary(),
                deployable.application,
                self.orchestrator,
                self.deployment,
                deployable.dataset,
            )
        except BaseException:
            self.observation.stop()
            raise

    def preflight(self) -> list[Finding]:
        """What is missing to deploy this treatment."""
        return self.orchestrator.preflight()

    def start(self, listener: Listener) -> None:
        """Stores first, then their data, then the services that read it. Leaves nothing behind if it fails."""
        for name, text in self.orchestrator.render().items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        try:
            if self.orchestrator.deploys:
                self._deploy(listener)
            self.orchestrator.ready()
            if self._application.data.seed:
                data_commands.run(self._application.data, self._application.data.seed, self._entry())
            if self._application.data.ready:
                listener.step("waiting for data")
                data_commands.wait(self._application.data, self._application.data.ready, self._entry())
            self.interference.deploy(self.deployment, listener)
        except BaseException:
            self.remove()
            raise

    def _deploy(self, listener: Listener) -> None:
        self.orchestrator.prepare(listener.step)
        listener.step("starting stores")
        self.orchestrator.apply(stores_only=True)
        self.orchestrator.ready(stores_only=True)
        listener.step("seeding")
        self.seeder.seed(listener.step)
        listener.step("starting services")
        self.orchestrator.apply()

    def reset(self, listener: Listener) -> None:
        """Empty the stores and fill them anew; of images, by their command, if one is given."""
        self.seeder.reset(listener.step)
        if self._application.data.reset:
            data_commands.run(self._application.data, self._application.data.reset, self._entry())
        self.interference.reset(listener)

    def events(self) -> list[str]:
        """What of it stopped working since it was started, as sentences; nothing of what disturbs it."""
        return self.orchestrator.events()

    def targets(self) -> list[str]:
        """Where the load enters: ``host:port`` of each replica."""
        return self._addresses(self.deployment.entry)

    def urls(self) -> dict[str, str]:
        """By workload, where its requests enter: ``http://host:port`` of the first replica, ``tcp://`` of ZeroMQ."""
        found = {}
        for name, workload in self._application.workloads.items():
            entry = self._application.entry_of(name)
            first = self._addresses(entry if entry in self.deployment.entries else self.deployment.entry)[0]
            found[name] = f"{'tcp' if workload.protocol == 'zmq' else 'http'}://{first}"
        return found

    def _entry(self) -> list[str]:
        """Where requests enter, whatever the load: ``host:port`` of each front end."""
        return self._addresses(self.deployment.entries[0])

    def _addresses(self, entry: Entry) -> list[str]:
        return self.orchestrator.addresses(entry.service, entry.port)

    def workload(self) -> Workload | Path:
        """What the treatment is loaded with; its seeded fields are drawn from the dataset that the stores hold.

        A server that is named is sent its name, whichever of its addresses a request goes to.
        """
        if isinstance(self._workload, Workload) and self.deployment.external:
            url = address.parsed(self.deployment.external)
            return self._workload if address.is_ip(url.hostname or "") else self._workload.for_host(url.netloc)
        if isinstance(self._workload, Path) or not is_seeded(self._workload):
            return self._workload
        return resolved(self._workload, self.seeder.keys)

    def images(self) -> dict[str, str]:
        """The images that run, by what is in them: reference and id; none where there are no containers."""
        file = self.folder / "images.json"
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return {what: " ".join(filter(None, image.values())) for what, image in found.items()}

    def remove(self) -> None:
        """Stop and remove all of it, and stop observing it."""
        try:
            self.interference.remove()
        finally:
            self.orchestrator.remove()
            self.observation.stop()
