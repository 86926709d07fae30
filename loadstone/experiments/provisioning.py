"""Which cluster a treatment needs, and the one that is there now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from loadstone import plugins
from loadstone.experiments.listener import Listener
from loadstone.experiments.plan import Plan
from loadstone.experiments.tuning import Tuner, machines_of
from loadstone.infrastructure.base import Infrastructure, Provision
from loadstone.infrastructure.journal import cluster_name
from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.application import Application
from loadstone.model.cluster import Cluster, Node, Reach
from loadstone.model.environment import GUESTS
from loadstone.model.errors import Interrupted
from loadstone.model.guest import Vm
from loadstone.model.records.node.tuning import KnobChange
from loadstone.model.trial import Treatment
from loadstone.orchestration.external import kind_of
from loadstone.workloads.members import clients_needed


class Demand(NamedTuple):
    """What must run on the nodes, how many managers it has, and virtual machines where nodes must be some."""

    software: str
    managers: int
    vm: Vm | None = None

    def of(self, infrastructure: Infrastructure) -> Infrastructure:
        """What makes such nodes."""
        return infrastructure if self.vm is None else infrastructure.in_guests(self.vm)

    def sketch(self, infrastructure: Infrastructure) -> list[Node]:
        """The nodes as they would be; makes nothing."""
        return self.of(infrastructure).sketch(self.software, self.managers)


def demand(cluster: Cluster, treatment: Treatment) -> Demand:
    """What a treatment needs."""
    orchestrator = kind_of(treatment.settings.orchestrator)
    settings = treatment.settings
    vm = (settings.vm or Vm()) if settings.environment in GUESTS else None
    if not orchestrator.managed:
        return Demand(orchestrator.software, 0, vm)
    managers = cluster.managers
    if managers is None:
        managers = 3 if treatment.settings.high_availability == "on" else 1
    return Demand(orchestrator.software, managers, vm)


def infrastructure_of(cluster: Cluster, name: str) -> Infrastructure:
    """The infrastructure of a cluster, with nothing made yet; ``name`` is that of the run or deployment it is for."""
    kind = plugins.find("infrastructure", cluster.infrastructure)
    infrastructure: Infrastructure = kind(cluster, cluster_name(name))
    return infrastructure


def nodes_of(plan: Plan) -> list[Node]:
    """The nodes of all treatments, as they would be."""
    nodes: list[Node] = []
    for cluster, wanted in demands(plan):
        nodes += wanted.sketch(infrastructure_of(cluster, "preflight"))
    return nodes


def reaches_of(plan: Plan) -> list[tuple[str, Reach]]:
    """The machines of all treatments' nodes, each with how it is reached; they need not answer."""
    found: list[tuple[str, Reach]] = []
    for cluster, wanted in demands(plan):
        infrastructure = infrastructure_of(cluster, "preflight")
        found += wanted.of(infrastructure).reaches(wanted.software, wanted.managers)
    return found


def demands(plan: Plan) -> list[tuple[Cluster, Demand]]:
    """The different clusters of a plan's treatments, each with what must run on it."""
    found: dict[tuple[str, Demand], Cluster] = {}
    for treatment in plan.treatments:
        cluster = plan.of(treatment).study.cluster
        found.setdefault((cluster.model_dump_json(), demand(cluster, treatment)), cluster)
    return [(cluster, wanted) for (_, wanted), cluster in found.items()]


def _entry_ports(application: Application) -> list[int]:
    """The ports at which requests enter, as far as the application gives them."""
    entries = application.entries() if application.url is None else []  # else someone else deployed it
    found = [application.services[entry.service].ports.get(entry.port) for entry in entries]
    return [port for port in found if port is not None]


def entry_ports(applications: Iterable[Application]) -> tuple[int, ...]:
    """The ports at which requests of any of these applications enter."""
    return tuple(sorted({port for application in applications for port in _entry_ports(application)}))


def machine_needs(plan: Plan) -> MachineNeeds:
    """The machines that are enough for each treatment of a plan."""
    needed = demands(plan)
    return MachineNeeds(
        study=plan.study.name,
        cluster=needed[0][0],
        software=tuple(sorted({wanted.software for _, wanted in needed})),
        managers=max(wanted.managers for _, wanted in needed),
        workers=max(cluster.workers for cluster, _ in needed),
        clients=max(clients_needed(own.study.load) or 1 for own in plan.own),
        entry_ports=entry_ports(own.application for own in plan.own),
    )


def for_cluster(infrastructure: Infrastructure, cluster: Cluster) -> Infrastructure:
    """What makes a treatment's cluster: the same where that is the study's."""
    if cluster == infrastructure.cluster:
        return infrastructure
    kind: type[Infrastructure] = plugins.find("infrastructure", cluster.infrastructure)
    return kind(cluster, infrastructure.entry_name)


def sketch(infrastructure: Infrastructure, treatment: Treatment) -> Provision:
    """The nodes of the treatment's cluster, as they would be; makes nothing."""
    return Provision(tuple(demand(infrastructure.cluster, treatment).sketch(infrastructure)))


def provide(treatment: Treatment, infrastructure: Infrastructure, listener: Listener) -> Provision:
    """The treatment's cluster, and which images its nodes get from where; ``infrastructure``: what makes such nodes."""
    cluster = infrastructure.cluster
    wanted = demand(cluster, treatment)
    provision = infrastructure.provide(wanted.software, wanted.managers, listener.step)
    if provision.access is None:
        return provision
    access = replace(provision.access, images=cluster.images, registry=cluster.registry or "")
    return replace(provision, access=access)


class Provider:
    """Keeps one cluster at a time, its hosts tuned: that of the treatment which runs."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        listener: Listener,
        keep: bool = False,
        entry_ports: Sequence[int] = (),
    ) -> None:
        self._infrastructure = infrastructure
        self._keep = keep
        self._entry_ports = entry_ports
        self._acquired: dict[str, Infrastructure] = {}
        """By cluster, what has acquired machines, which stay until the end of the run."""
        self._listener = listener
        self._tuner = Tuner(listener)
        self._demand: tuple[Cluster, Demand] | None = None
        self._serving = infrastructure
        """What made the cluster that is there: the same, or one that makes virtual machines."""
        self._provision = Provision(())

    @property
    def provision(self) -> Provision:
        """The nodes that are there now."""
        return self._provision

    @property
    def tuned(self) -> dict[str, tuple[KnobChange, ...]]:
        """What is set on the hosts now, by machine."""
        return self._tuner.changes

    def serves(self, treatment: Treatment, cluster: Cluster) -> bool:
        """Whether the cluster that is there is the one that a treatment needs, whatever its hosts' tuning."""
        same_cores = self._tuner.keeps_cores(treatment.settings.tuning)
        return same_cores and self._demand == (cluster, demand(cluster, treatment))

    def provide(self, treatment: Treatment, cluster: Cluster) -> Provision:
        """The treatment's cluster; one that another treatment needed is given back first. Hosts are tuned before."""
        serves = self.serves(treatment, cluster)
        if not serves:
            self.release()
        wanted = demand(cluster, treatment)
        known = cluster.model_dump_json()
        infrastructure = self._acquired.setdefault(known, for_cluster(self._infrastructure, cluster))
        if not serves:
            infrastructure.acquire(wanted.software, wanted.managers, self._listener.step, self._entry_ports)
        self._tune(treatment, infrastructure)
        if not serves:
            self._serving = wanted.of(infrastructure)
            self._provision = provide(treatment, self._serving, self._listener)
            self._demand = cluster, wanted
        return self._provision

    def _tune(self, treatment: Treatment, infrastructure: Infrastructure) -> None:
        wanted = treatment.settings.tuning
        nodes = sketch(infrastructure, treatment).nodes if wanted is not None else ()
        self._tuner.tune(wanted, machines_of(nodes)[0])

    @property
    def takes_along(self) -> bool:
        """Whether releasing the cluster removes it, with everything on it. One that was there before us stays."""
        access = self._provision.access
        return self._demand is not None and access is not None and access.cluster == self._serving.entry_name

    def problems(self) -> list[str]:
        """Nodes that stopped working, and knobs that have another value since, as sentences."""
        return [*self._serving.problems(), *self._tuner.problems()] if self._demand is not None else []

    def release(self) -> None:
        """Give everything back, then set the hosts back."""
        try:
            if self._demand is not None:
                needed, self._demand = self._demand, None
                try:
                    self._serving.release()
                except Interrupted:  # half of it is still there
                    self._demand = needed
                    raise
        finally:
            self._tuner.release()

    def give_back(self) -> None:
        """At the end of the run: give back the machines that were made for it, or keep them."""
        for infrastructure in self._acquired.values():
            infrastructure.give_back(self._keep, self._listener.note)
