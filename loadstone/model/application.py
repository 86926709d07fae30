"""An application: a graph of services with what runs them, what they need and how they are judged ready."""

from __future__ import annotations

import graphlib
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from loadstone.model import address, dataset
from loadstone.model.base import Finding, Matches, Model, beside, did_you_mean
from loadstone.model.dataset import Dataset, DatasetName
from loadstone.model.image import Image
from loadstone.model.tasks import Tasks
from loadstone.model.units import Duration, Memory
from loadstone.model.workload import Workload

Tier = Literal["frontend", "logic", "caching", "storage", "tracing"]
Port = Annotated[int, Field(ge=1, le=65535)]
Cpu = Annotated[float, Field(ge=0.01, le=1024)]
"""Cores' worth of CPU time; the kernel enforces no less than a hundredth."""
ServiceName = Annotated[
    str, Matches(r"[a-z][a-z0-9-]{0,62}", "lower-case letters, digits and '-', a letter first, at most 63")
]

ContainerPath = Annotated[str, Matches(r"/.*[^/]", "an absolute path in the container, for example /etc/web.conf")]
_OURS = (
    *("STONE_LISTEN", "STONE_ADMIN", "STONE_DOCUMENTS", "STONE_PROFILE", "STONE_LOG_LEVEL"),
    *("STONE_TRACES", "STONE_TRACES_SAMPLE", "STONE_TRACES_INTERVAL", "STONE_REPLICA"),
    *("STONE_DELAY", "STONE_DATA", "STONE_STORE_PASSWORD"),
)
_OUR_PREFIXES = ("STONE_NEED_", "STONE_TASK_")
Variable = Annotated[str, Matches(r"[^=\s]+", "the name of a variable, without '=' and spaces")]


def _server(text: str | None) -> str | None:
    if text is not None and address.parsed(text)[2:] != ("", "", ""):
        raise ValueError(f"{text!r} has a path; give the server alone, and paths in 'workloads'")
    return text


class Resources(Model):
    """Limits of one replica: ``cpu`` in cores, ``memory`` in bytes; None is unlimited."""

    cpu: Cpu | None = None
    """Cores' worth of CPU time."""
    memory: Memory | None = None

    def times(self, factor: float) -> Resources:
        """Both limits multiplied, as vertical scaling does."""
        return Resources(
            cpu=self.cpu * factor if self.cpu else None,
            memory=int(self.memory * factor) if self.memory else None,
        )


class Runs(Model):
    """What runs a service: a service of ``stone``, named store software, the chosen document store, or any image."""

    stone: str | None = None
    """A service of the ``stone`` binary, as ``stone serve`` names it: ``hotel/geo``."""
    software: str | None = None
    """Store software by the name that ``software.yaml`` gives it: ``memcached``."""
    documents: Literal[True] | None = None
    """A document store: which software is a setting of the study (``documents: postgres | mongodb``)."""
    image: Image | None = None
    """A container image, ``nginx:1.25``, for what is not ours; only orchestrators of containers run it. Others are
    found by their service's name."""
    url: Annotated[str | None, AfterValidator(_server)] = None
    """A server that someone else deployed, ``http://host:port``: it is loaded, and nothing of it is deployed, limited
    or audited."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Runs:
        if sum(getattr(self, option) is not None for option in type(self).model_fields) != 1:
            raise ValueError("give exactly one of 'stone', 'software', 'documents', 'image', 'url'")
        return self


class Readiness(Model):
    """When a replica counts as ready: an HTTP 200 on a port, or that the port accepts connections.

    An image without ports is ready as soon as it runs.
    """

    port: str | None = None
    """The name of the probed port; the service's first port by default."""
    http: Annotated[str | None, Matches(r"/\S*", "a path that begins with '/', for example /readyz")] = None
    """A path that answers 200 when ready."""
    within: Duration = 60.0
    """A replica that takes longer has failed."""


class Service(Model):
    """One service of an application."""

    tier: Tier
    runs: Runs
    ports: dict[str, Port] = {}
    """By name; the first that is not ``admin`` is where others reach it. Stores have their software's port."""
    needs: list[str] = []
    """The services that it calls; they start first."""
    calls: list[str] = []
    """Services that it calls too, and that may start later: two that call each other cannot both be first."""
    resources: Resources = Resources()
    """Limits of one replica at ``scaling: baseline``."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Replicas at ``scaling: baseline``."""
    readiness: Readiness = Readiness()
    tasks: Tasks = Tasks()
    """Parameters of the tasks that a service of ``stone`` does, all of them; a study may give others."""
    data: bool = False
    """Whether each replica of a service of ``stone`` has a folder for files. Empty at the start, gone at the end."""
    entrypoint: list[str] = []
    """The program of an image and its first arguments, instead of the image's entrypoint and command."""
    command: list[str] = []
    """The arguments of an image's entrypoint, instead of its own."""
    environment: dict[Variable, str] = {}
    """Variables of an image; of a service of ``stone``, those beginning with ``STONE_`` that it reads and that are not
    set for it. They are in the results unchanged."""
    configs: dict[ContainerPath, str] = {}
    """Files of an image: their text by path in the container, mounted read-only."""
    volumes: list[ContainerPath] = []
    """Paths in an image's container that hold data. Empty at the start, gone at the end."""

    @property
    def main_port(self) -> str | None:
        """The name of the port where others reach it; None for an image without ports and a chosen document store."""
        return next((port for port in self.ports if port != "admin"), self.runs.software)

    def of_stone(self) -> list[str]:
        """The keys that are given and that only services of ``stone`` have."""
        return [key for key in ("tasks", "data") if getattr(self, key) != type(self).model_fields[key].default]

    def of_images(self) -> list[str]:
        """The keys that are given and that only images have."""
        return [key for key in ("entrypoint", "command", "configs", "volumes") if getattr(self, key)]


class Entry(Model):
    """Where requests enter the application."""

    service: str
    port: str


class DataCommands(Model):
    """Commands of a shell that manage the data of an application of images. ``$LOADSTONE_ENTRY`` is ``host:port``."""

    folder: Annotated[str, AfterValidator(beside), Field(validate_default=True)] = "."
    """Where they run, on the machine that runs the study: by default, where the application file is."""
    seed: str | None = None
    """Fills the stores of a fresh deployment."""
    reset: str | None = None
    """Brings the stores back to that before each trial; without, stores that are images are deployed anew."""
    ready: str | None = None
    """Succeeds once the application can serve requests, also with its data; it is repeated for a minute."""


class Growth(Model):
    """A check after a trial: a collection must have grown by the number of completed writes of its operations."""

    store: str
    """A document store, or a Redis."""
    collection: str
    """A collection of a document store, or what the seeding of a Redis counts."""
    operation: str | None = None
    """What adds to it: ``compose`` is the operation of this name and each step of this name of a session,
    ``session.compose`` that step alone."""
    operations: Annotated[list[str], Field(min_length=1)] | None = None
    """Several of them, instead of one."""
    full_at: Annotated[int | None, Field(ge=1)] = None
    """Above this many documents a write may be answered well and yet add nothing (no room is left)."""

    @property
    def writes(self) -> list[str]:
        """The operations, one or several."""
        return [self.operation] if self.operation is not None else self.operations or []

    def findings(self) -> Iterator[Finding]:
        if (self.operation is None) == (self.operations is None):
            yield (), "give either 'operation' or 'operations' (several)"


class Application(Model):
    """The system under test, as data: one ``application.yaml``."""

    name: ServiceName
    description: str = ""
    entry: Entry
    services: Annotated[dict[ServiceName, Service], Field(min_length=1)]
    workloads: Annotated[dict[str, Workload], Field(min_length=1)]
    default_workload: str
    """The workload of a study that names none."""
    seeding: Literal["hotel", "social", "media", "shop", "docstore"] | None = None
    """What ``stone seed`` fills the stores with."""
    data: DataCommands = DataCommands()
    """Commands that fill and empty the stores of an application of images or at a URL."""
    datasets: dict[DatasetName, Dataset] = {}
    """What the stores can be filled with, where there is a choice."""
    default_dataset: str | None = None
    """The dataset of a study that names none."""
    paper_resources: dict[Tier, Resources] = {}
    """Limits by tier under ``profile: paper``; a tier that is not named keeps its services' own."""
    checks: list[Growth] = []
    """What must have grown after a trial."""

    def entry_of(self, workload: str | None) -> Entry:
        """Where the requests of a workload enter, by default of the default one; those of a script at ``entry``."""
        chosen = self.workloads.get(workload or self.default_workload)
        if chosen is None or chosen.entry is None:
            return self.entry
        service, _, port = chosen.entry.partition(":")
        return Entry(service=service, port=port or self.services[service].main_port or "")

    def entries(self) -> list[Entry]:
        """Everywhere that requests enter: its own entry first, then those of its workloads."""
        found = [self.entry, *map(self.entry_of, self.workloads)]
        return [entry for index, entry in enumerate(found) if entry not in found[:index]]

    def findings(self) -> Iterator[Finding]:
        """Unknown names, cycles, port clashes; each at the key that is wrong."""
        yield from self._unknown_names()
        yield from self._without_ports()
        yield from self._images()
        yield from self._deployed_elsewhere()
        yield from self._several_stores()
        yield from self._cycles()
        yield from self._port_clashes()
        yield from self._datasets()
        for name, workload in self.workloads.items():
            for path, message in [*workload.findings(), *dataset.findings(workload, self.datasets)]:
                yield ("workloads", name, *path), message

    def _unknown_names(self) -> Iterator[Finding]:
        names = list(self.services)
        for name, service in self.services.items():
            for key, needs in (("needs", service.needs), ("calls", service.calls)):
                for index, need in enumerate(needs):
                    earlier = needs[:index] if key == "needs" else service.needs + needs[:index]
                    if need not in self.services:
                        yield ("services", name, key, index), f"no service {need!r}" + did_you_mean(need, names)
                    elif need in earlier:
                        yield ("services", name, key, index), f"{need!r} is given twice; remove one"
            port = service.readiness.port
            if port is not None and port not in service.ports:
                message = f"{name} has no port {port!r}" + did_you_mean(port, list(service.ports))
                yield ("services", name, "readiness", "port"), message
        for key, message in self._wrong_entry(self.entry.service, self.entry.port):
            yield ("entry", key), message
        yield from self.wrong_entries()
        if self.default_workload not in self.workloads:
            message = f"no workload {self.default_workload!r}" + did_you_mean(
                self.default_workload, list(self.workloads)
            )
            yield ("default_workload",), message
        for index, check in enumerate(self.checks):
            if check.store not in self.services:
                yield ("checks", index, "store"), f"no service {check.store!r}" + did_you_mean(check.store, names)
            requests = {name for workload in self.workloads.values() for name in workload.request_names()}
            bare = {name.rpartition(".")[2] for name in requests}
            yield from ((("checks", index, *path), message) for path, message in check.findings())
            for position, operation in enumerate(check.writes):
                if operation not in requests | bare:
                    where = ("operation",) if check.operation is not None else ("operations", position)
                    known = sorted(requests if "." in operation else bare)
                    message = f"no workload has an operation {operation!r}" + did_you_mean(operation, known)
                    yield ("checks", index, *where), message

    def wrong_entries(self) -> Iterator[Finding]:
        """Entries of workloads that are no service, or no port of it."""
        for name, workload in self.workloads.items():
            if workload.entry is not None:
                service, _, port = workload.entry.partition(":")
                for _, message in self._wrong_entry(service, port):
                    yield ("workloads", name, "entry"), message

    def _wrong_entry(self, service: str, port: str) -> Iterator[tuple[str, str]]:
        """What is wrong with an entry, as ``service`` or ``port`` and a message; no port stands for the main one."""
        if service not in self.services:
            yield "service", f"no service {service!r}" + did_you_mean(service, list(self.services))
            return
        ports = list(self.services[service].ports) or [self.services[service].runs.software or ""]
        if (port or self.services[service].main_port) not in ports:
            what = f"no port {port!r}" if port else "no port to enter at; give it 'ports'"
            yield "port", f"{service} has {what}" + did_you_mean(port, ports)

    def _without_ports(self) -> Iterator[Finding]:
        for name, service in self.services.items():
            wanted = service.runs.stone is not None or (service.runs.image is not None and service.ports)
            if wanted and not any(port != "admin" for port in service.ports):
                yield ("services", name), "needs a port besides 'admin', for example ports: {grpc: 8081, admin: 9081}"
            if service.readiness.http is not None and service.readiness.port is None:
                yield ("services", name, "readiness", "http"), "needs 'port', the name of the port that answers it"

    def _images(self) -> Iterator[Finding]:
        for name, service in self.services.items():
            if service.runs.image is None:
                for key in service.of_images():
                    yield ("services", name, key), f"only images have {key!r}; remove it, or write runs: {{image: ...}}"
                for at, message in _wrong_variables(service):
                    yield ("services", name, "environment", *at), message
            if service.runs.stone is None:
                for key in service.of_stone():
                    yield ("services", name, key), f"only services of stone have {key!r}; remove it"
            for index, path in enumerate(service.volumes):
                if path in service.configs or path in service.volumes[:index]:
                    yield ("services", name, "volumes", index), f"{path} is given twice; remove one"
            for key, needs in (("needs", service.needs), ("calls", service.calls)):
                for index, need in enumerate(needs):
                    bare = need in self.services and self.services[need].runs.image and not self.services[need].ports
                    if service.runs.stone is not None and bare:
                        yield ("services", name, key, index), f"{need} has no port to be reached at; give it one"
        for index, check in enumerate(self.checks):
            if check.store in self.services and self.services[check.store].runs.image is not None:
                yield ("checks", index, "store"), f"{check.store} runs an image, whose documents cannot be counted"

    def _deployed_elsewhere(self) -> Iterator[Finding]:
        for name, service in self.services.items():
            if service.runs.url is None:
                continue
            if len(self.services) > 1:
                yield ("services", name, "runs", "url"), "is the whole application; remove the other services"
            for key in sorted(service.model_fields_set - {"tier", "runs", "ports"}):
                yield ("services", name, key), f"{service.runs.url} is deployed by someone else; remove it"

    def _several_stores(self) -> Iterator[Finding]:
        for name, service in self.services.items():
            stores = [need for need in service.needs if need in self.services and self.services[need].runs.documents]
            if len(stores) > 1:
                yield ("services", name, "needs"), f"has {len(stores)} document stores; a service can have one"

    def _datasets(self) -> Iterator[Finding]:
        if self.seeding is not None and self.data != DataCommands():
            yield ("data",), "'seeding' fills and empties the stores; remove one of the two"
        if self.datasets and self.seeding is None:
            yield ("datasets",), "nothing fills the stores with them; give 'seeding'"
        if self.datasets and self.default_dataset is None:
            yield ("datasets",), "give 'default_dataset', the one of a study that names none"
        elif self.default_dataset is not None and self.default_dataset not in self.datasets:
            message = f"no dataset {self.default_dataset!r}" + did_you_mean(self.default_dataset, list(self.datasets))
            yield ("default_dataset",), message

    def _cycles(self) -> Iterator[Finding]:
        graph = {name: [need for need in s.needs if need in self.services] for name, s in self.services.items()}
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            cycle = list(reversed(error.args[1]))
            yield ("services", cycle[0], "needs"), f"services need each other in a circle: {' -> '.join(cycle)}"

    def _port_clashes(self) -> Iterator[Finding]:
        for name, service in self.services.items():
            seen: dict[int, str] = {}
            for port, number in service.ports.items():
                if number in seen:
                    yield (
                        ("services", name, "ports", port),
                        f"{number} is already the port {seen[number]!r}; give another",
                    )
                seen[number] = port

    @property
    def url(self) -> str | None:
        """The address of an application that someone else deployed."""
        return next((service.runs.url for service in self.services.values() if service.runs.url is not None), None)

    def keeps_data(self) -> bool:
        """Whether data of one trial would be found by the next: images have it, and nothing empties them."""
        stateful = (
            service.runs.image is not None and (service.volumes or service.tier in ("caching", "storage"))
            for service in self.services.values()
        )
        return self.data.reset is None and any(stateful)

    def start_order(self) -> list[str]:
        """Service names, each after all that it needs."""
        graph = {name: service.needs for name, service in self.services.items()}
        return list(graphlib.TopologicalSorter(graph).static_order())


def _wrong_variables(service: Service) -> Iterator[Finding]:
    """Variables that a service which is no image cannot have."""
    if service.environment and service.runs.stone is None:
        yield (), "only images and services of stone have 'environment'; remove it"
        return
    for variable in service.environment:
        if not variable.startswith("STONE_"):
            yield (variable,), "a service of stone reads only variables that begin with STONE_; remove it"
        elif variable in _OURS or variable.startswith(_OUR_PREFIXES):
            yield (variable,), "is set for every service of stone; remove it"
