"""From an application and a treatment to a deployment: replicas, their nodes and limits. Pure."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import loadstone
from loadstone import plugins
from loadstone.model import image
from loadstone.model.application import Application, Resources, Service
from loadstone.model.base import did_you_mean, plural
from loadstone.model.cluster import Node
from loadstone.model.deployment import DATA, Deployment, Replica
from loadstone.model.errors import InputError, PreflightError
from loadstone.model.proxy import SERVICE
from loadstone.model.software import SoftwareCatalogue
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings
from loadstone.model.units import format_memory
from loadstone.orchestration import proxy, stacks
from loadstone.orchestration.base import Orchestrator

_STATELESS = ("frontend", "logic")


def resolve(
    application: Application,
    settings: Settings,
    nodes: list[Node],
    resources: dict[str, Resources],
    catalogue: SoftwareCatalogue,
    name: str,
    beside: Stacks = Stacks(),  # noqa: B008, it is frozen
) -> Deployment:
    """Every replica of ``application`` under ``settings``, in start order, and the stacks ``beside`` it, last.

    Replicas are spread evenly over the worker nodes that placement allows them, in turn among those that are allowed
    the same; an orchestrator with a scheduler of its own is bound by what is allowed, not by that. ``resources``
    replace the application's limits by service; a limit that is not given stays. Raises InputError for unknown names.
    """
    kind: type[Orchestrator] = plugins.find("orchestrators", settings.orchestrator)
    entry, entries, behind = application.entry_of(settings.workload), application.entries(), None
    if settings.proxy is not None:
        application = proxy.in_front(application, entry, settings.proxy, catalogue)
        entry, entries, behind = proxy.ENTRY, [proxy.ENTRY if each == entry else each for each in entries], entry
    for unknown in set(resources) - {*application.services, SERVICE, *beside.services()}:
        known = list(application.services)
        raise InputError(f"resources: {application.name} has no service {unknown!r}" + did_you_mean(unknown, known))
    workers = [node for node in nodes if node.role == "worker"]
    if not workers:
        raise InputError("the cluster has no worker node to place replicas on")

    on = stacks.nodes(beside, settings.placement, workers)
    free = tuple(node.name for node in stacks.others(beside, workers))
    allowed = _allowed(application, settings, workers, list(beside.given()))
    if len(free) < len(workers):
        allowed = dict.fromkeys(application.services, free) | allowed
    replicas: list[Replica] = []
    turns: dict[tuple[str, ...], Iterator[str]] = {}
    for service_name in application.start_order():
        service = application.services[service_name]
        software = _software(service, settings, catalogue, service_name)
        ports = service.ports
        if software is not None and not ports:
            ports = {service.runs.software or software: catalogue.software[software].port}
        there = allowed.get(service_name) or free
        turn = turns.setdefault(there, itertools.cycle(there))
        for index in range(1, _count(service, settings) + 1):
            replicas.append(
                Replica(
                    service=service_name,
                    index=index,
                    tier=service.tier,
                    node=next(turn),
                    resources=_limits(application, service_name, settings, resources),
                    stone=service.runs.stone,
                    software=software,
                    image=image.whole(service.runs.image) if service.runs.image else None,
                    entrypoint=tuple(service.entrypoint),
                    command=tuple(service.command),
                    environment=service.environment | _variables(service_name, service, settings),
                    configs=service.configs,
                    volumes=(DATA,) if service.data else tuple(service.volumes),
                    ports=ports,
                    needs=(*service.needs, *service.calls),
                    readiness=service.readiness,
                    in_front=software is not None and catalogue.software[software].in_front,
                )
            )
    replicas += stacks.replicas(on, resources, catalogue, kind.runs_containers())
    foreign = {replica.image: replica.image for replica in replicas if replica.image}
    ours = dict.fromkeys("stone" if replica.stone else replica.software for replica in replicas)
    if kind.runs_containers() or any(node.reach.through_cluster for node in nodes):
        ours["stone"] = None  # for nodes' agents, and to reach replicas from inside
    deployment = Deployment(
        name=name,
        application=application.name,
        profile=settings.profile,
        documents=settings.documents,
        entry=entry,
        entries=tuple(entries),
        nodes=tuple(nodes),
        replicas=tuple(replicas),
        software={name: catalogue.software[name] for name in dict.fromkeys(r.software for r in replicas) if name},
        scaling=settings.scaling,
        resolves_names=kind.resolves_names,
        proxy=settings.proxy,
        behind=behind,
        allowed=allowed | {replica.service: (replica.node,) for replica in replicas if replica.stack},
        images={what: f"loadstone/{what}:{loadstone.__version__}" for what in ours if what} | foreign,
        warnings=tuple(_warnings(replicas, workers)),
    )
    return stacks.watching(deployment)


def _allowed(
    application: Application, settings: Settings, workers: list[Node], watching: list[str]
) -> dict[str, tuple[str, ...]]:
    """The nodes by service that ``placement`` names, a service's own before its tier's."""
    if settings.placement is None:
        return {}
    known = [node.name for node in workers]
    placement = settings.placement
    for unknown in set(placement.services) - {*application.services, SERVICE, *watching}:
        services = list(application.services)
        raise InputError(f"placement: {application.name} has no service {unknown!r}" + did_you_mean(unknown, services))
    for names in [*placement.tiers.values(), *placement.services.values()]:
        for name in names:
            if name not in known:
                raise InputError(f"placement: no worker {name!r}" + did_you_mean(name, known))
    found = {
        name: tuple(placement.services.get(name) or placement.tiers.get(service.tier) or ())
        for name, service in application.services.items()
    }
    return {name: nodes for name, nodes in found.items() if nodes}


def _software(service: Service, settings: Settings, catalogue: SoftwareCatalogue, name: str) -> str | None:
    software = settings.documents if service.runs.documents else service.runs.software
    if software is not None and software not in catalogue.software:
        known = list(catalogue.software)
        raise InputError(f"service {name}: no software {software!r}" + did_you_mean(software, known))
    return catalogue.stand_in(software) if software in catalogue.replaced else software


def _variables(name: str, service: Service, settings: Settings) -> dict[str, str]:
    """A service's task parameters for ``stone``: the application's, overridden by the study's."""
    given = (settings.tasks or {}).get(name)
    tasks = given.over(service.tasks) if given is not None else service.tasks
    return tasks.variables() | ({"STONE_DATA": DATA} if service.data else {})


def _count(service: Service, settings: Settings) -> int:
    """Horizontal scaling doubles what holds no state; the published deployments doubled every service."""
    doubled = settings.scaling == "horizontal" and (service.tier in _STATELESS or settings.profile == "paper")
    return service.replicas * (2 if doubled else 1)


def _limits(application: Application, name: str, settings: Settings, replacements: dict[str, Resources]) -> Resources:
    if settings.scaling == "unlimited":
        return Resources()
    service = application.services[name]
    limits = service.resources
    if settings.profile == "paper":
        limits = application.paper_resources.get(service.tier, limits)
    if (given := replacements.get(name)) is not None:
        limits = Resources(cpu=given.cpu or limits.cpu, memory=given.memory or limits.memory)
    return limits.times(2) if settings.scaling == "vertical" else limits


@dataclass(frozen=True, order=True)
class _Shortage:
    what: str
    wanted: str
    node: str
    available: str


def refuse_impossible(deployment: Deployment) -> None:
    """Raise PreflightError for limits that no node can give, with what is wanted and available."""
    by_name = {node.name: node for node in deployment.nodes}
    short: dict[_Shortage, list[str]] = defaultdict(list)
    for replica in deployment.replicas:
        node, limits = by_name[replica.node], replica.resources
        if limits.cpu is not None and limits.cpu > len(node.cpus):
            cores = plural(len(node.cpus), "core")
            short[_Shortage("cpu", f"{limits.cpu:g}", node.name, cores)].append(replica.service)
        if limits.memory is not None and limits.memory > node.memory:
            wanted, available = format_memory(limits.memory), format_memory(node.memory)
            short[_Shortage("memory", wanted, node.name, available)].append(replica.service)
    if not short:
        return
    because = {"vertical": " (scaling: vertical doubles every limit)"}.get(deployment.scaling, "")
    lines = [
        f"{', '.join(dict.fromkeys(services))}: wanted {shortage.what} {shortage.wanted}{because},"
        f" but node {shortage.node} has {shortage.available}"
        for shortage, services in sorted(short.items())
    ]
    first, services = min(short.items())
    factor = 2 if deployment.scaling == "vertical" else 1
    raise PreflightError("\n".join(lines), _remedy(first, services[0], by_name[first.node], factor))


def _remedy(shortage: _Shortage, service: str, node: Node, factor: int) -> str:
    if shortage.what == "cpu":
        fits = f"cpu: {len(node.cpus) / factor:g}"
    else:
        fits = f"memory: {math.floor(node.memory / factor / 2**20)}MiB"
    return (
        f"set resources: {{{service}: {{{fits}}}}} in the study, choose another scaling or profile,"
        " or use a larger node"
    )


def _warnings(replicas: list[Replica], workers: list[Node]) -> list[str]:
    warnings = []
    for node in workers:
        limits = [replica.resources.memory for replica in replicas if replica.node == node.name]
        total = sum(limit for limit in limits if limit is not None)
        if total > node.memory:
            warnings.append(
                f"the memory limits on {node.name} add up to {total / 2**30:.1f} GiB,"
                f" but it has {node.memory / 2**30:.1f} GiB: replicas may run out of memory below their limits"
            )
    split = {
        replica.service for replica in replicas if replica.index > 1 and replica.store and replica.tier == "storage"
    }
    if split:
        warnings.append(
            f"{', '.join(sorted(split))}: several replicas of a document store that do not know each other;"
            " data is split between them"
        )
    if apart := sorted(
        {replica.service for replica in replicas if replica.index > 1 and replica.volumes and replica.image}
    ):
        warnings.append(f"{', '.join(apart)}: each of several replicas has volumes of its own")
    return warnings
