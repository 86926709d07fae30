"""One service of a compose file as a service of an application file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.applications.compose_import import health
from loadstone.applications.compose_import.files import ServiceFiles, mounted
from loadstone.applications.compose_import.reading import OUTSIDE, ComposeDocument, require_utf8
from loadstone.applications.compose_import.schema import ComposeFile, ComposeService, PublishedPort
from loadstone.model.errors import InputError
from loadstone.model.messages import KeyPath
from loadstone.model.software import STORE_PASSWORD
from loadstone.model.units import format_memory, format_seconds

_COMPLETED = "service_completed_successfully"
_READY_S = 60.0
"""The time that a replica has to become ready, by default."""
_SECRET = re.compile(r"PASS(WORD|WD|PHRASE)?$|PASSWORD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL", re.IGNORECASE)
_PORT_NAME = re.compile(r"(?!admin$)[a-z][a-z0-9-]{0,14}")
_REMOTE = re.compile(r"node\.role\s*(==\s*worker|!=\s*manager)")


def fitting(name: str) -> str:
    """A name as services have them everywhere: ``user_db`` is ``user-db``."""
    plain = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:63]
    return plain if plain[:1].isalpha() else f"s-{plain}"[:63]


@dataclass
class Converted:
    """A service being converted: its part of the application file, and what only the compose file has."""

    name: str
    """In the compose file."""
    compose: ComposeService
    environment: dict[str, str]
    mounts: ServiceFiles
    needs: dict[str, KeyPath]
    """Services by their names in the compose file, and the key of each."""
    aliases: dict[str, KeyPath]
    """Other names that containers of other services reach it by in compose."""
    ports: dict[str, int]
    health_target: health.HealthTarget | None

    def texts(self) -> dict[str, str]:
        """All texts that may speak of other services, by the key that has them."""
        found = {f"environment.{name}": value for name, value in self.environment.items()}
        found |= {key: " ".join(getattr(self.compose, key) or []) for key in ("entrypoint", "command")}
        return found | self.mounts.configs

    def ends(self, services: dict[str, Converted]) -> bool:
        """Whether it is a job: it is to end, and listens nowhere."""
        waited = any(
            need == self.name and dependency.condition == _COMPLETED
            for other in services.values()
            for need, dependency in other.compose.depends_on.items()
        )
        return waited or _is_not_restarted(self.compose)

    def port_name(self, number: int) -> str:
        """The name of a port, which gets one if it has none."""
        for name, there in self.ports.items():
            if there == number:
                return name
        self.ports[f"port-{number}"] = number
        return f"port-{number}"

    def published(self) -> list[int]:
        """The container's TCP ports that the compose file publishes."""
        return [port for entry in self.compose.ports if entry.protocol == "tcp" for port in entry.numbers()]


def convert(document: ComposeDocument, compose: ComposeFile, name: str) -> Converted:
    """A service of the compose file; notes what is not carried, raises InputError for what cannot be."""
    service = compose.services[name]
    _runnable(document, name, service)
    mounts = mounted(document, compose, name)
    converted = Converted(
        name=name,
        compose=service,
        environment=_environment(document, name, service),
        mounts=mounts,
        needs=_needs(document, compose, name),
        aliases=dict(_aliases(compose, name)),
        ports=_ports(document, name, service),
        health_target=_health(document, name, service),
    )
    _listen_where_checked(document, converted)
    _note_deploy(document, name, service)
    return converted


def _runnable(document: ComposeDocument, name: str, service: ComposeService) -> None:
    where: KeyPath = ("services", name)
    if service.image is None and service.build is not None:
        remedy = "write image: NAME:TAG beside it, which `docker compose build` and `docker compose push` make"
        raise InputError([document.problem((*where, "build"), f"images are not built here; {remedy}")])
    if service.image is None:
        raise InputError([document.problem((*where, "image"), "is missing; for example image: nginx:1.25")])
    if service.build is not None:
        document.note((*where, "build"), "not carried: images are not built here; what 'image' names is run")


def _environment(document: ComposeDocument, service_name: str, service: ComposeService) -> dict[str, str]:
    env_files = [Path(entry.path) for entry in service.env_file]
    for index, file in enumerate(env_files):
        if not file.is_file():
            where = ("services", service_name, "env_file", index)
            document.note(where, f"not carried: {document.shown(file)}: there is no such file")
        elif document.outside(file):
            where = ("services", service_name, "env_file", index)
            raise InputError([document.problem(where, f"{document.shown(file)} is {OUTSIDE}")])
        else:
            require_utf8(file)
    for variable, value in service.environment.items():
        place = ("services", service_name, "environment", variable)
        if value is None:
            document.note(place, f"{variable} is not set here, so the container does not get it")
        elif variable in os.environ and document.is_name_alone(service_name, variable, env_files):
            document.note(place, f"{variable} is taken from this shell; its value stands in the results")
    given = {variable: value for variable, value in service.environment.items() if value is not None}
    shown = ", ".join(document.shown(file) for file in env_files)
    written = ("services", service_name, "environment")
    from_files = [variable for variable in given if env_files and not document.written((*written, variable))]
    for variable in from_files:
        if _SECRET.search(variable) and _is_alone(document, given[variable]):
            given[variable] = STORE_PASSWORD
            text = f"{variable} of {shown} looks like a secret: each deployment has a random one instead"
            document.note(("services", service_name, "env_file"), text)
    document.carried += [f"{variable} of {shown}" for variable in from_files if given[variable] != STORE_PASSWORD]
    return given


def _is_alone(document: ComposeDocument, secret: str) -> bool:
    """Whether a value stands in variables of secret names only: nothing else is built of it, or shows it anyway."""
    services = document.data["services"].values()
    variables = [(name, value) for service in services for name, value in (service.get("environment") or {}).items()]
    others = [value for name, value in variables if not (_SECRET.search(name) and value == secret)]
    written = [json.dumps(source.data, default=str) for source in document.sources]
    return bool(secret) and not any(secret in str(text) for text in [*others, *written])


def _needs(document: ComposeDocument, compose: ComposeFile, name: str) -> dict[str, KeyPath]:
    service = compose.services[name]
    found: dict[str, KeyPath] = {need: ("services", name, "depends_on", need) for need in service.depends_on}
    for need, dependency in service.depends_on.items():
        if dependency.condition == _COMPLETED:
            remedy = f"write x-loadstone: {{without: [{need}], seed: COMMAND}}"
            text = f"not carried: {need} is not waited for to end, and is started again when it does; {remedy}"
            document.note(found[need], text)
    return found


def _aliases(compose: ComposeFile, name: str) -> Iterator[tuple[str, KeyPath]]:
    service = compose.services[name]
    if service.container_name not in ("", name):
        yield service.container_name, ("services", name, "container_name")
    for network, dependency in service.networks.items():
        for index, alias in enumerate(dependency.aliases if dependency is not None else []):
            if alias != name:
                yield alias, ("services", name, "networks", network, "aliases", index)
    for other, linking in compose.services.items():
        for index, link in enumerate(linking.links):
            needed, _, alias = link.partition(":")
            if needed == name and alias not in ("", name):
                yield alias, ("services", other, "links", index)


def _ports(document: ComposeDocument, name: str, service: ComposeService) -> dict[str, int]:
    found: dict[str, int] = {}
    entries: list[tuple[KeyPath, PublishedPort]] = [
        *((("services", name, "ports", index), entry) for index, entry in enumerate(service.ports)),
        *((("services", name, "expose", index), entry) for index, entry in enumerate(service.expose)),
    ]
    for where, entry in entries:
        if entry.protocol != "tcp":
            document.note(where, f"not carried: a {entry.protocol} port; no orchestrator publishes it")
            continue
        for number in entry.numbers():
            if number not in found.values():
                fits = _PORT_NAME.fullmatch(entry.name) and entry.name not in found and entry.last is None
                found[entry.name if fits else f"port-{number}"] = number
    return found


def _health(document: ComposeDocument, name: str, service: ComposeService) -> health.HealthTarget | None:
    check, where = service.healthcheck, ("services", name, "healthcheck", "test")
    if check is None or not check.is_active():
        return None
    health_target = health.understood(check.test, {name, service.container_name})
    if health_target is None:
        text = "not carried: an orchestrator cannot check it from outside the container"
        document.note(
            where, f"{text}; write x-loadstone: {{readiness: {{{fitting(name)}: {{port: ..., http: /...}}}}}}"
        )
    elif not health_target.exactly:
        what = f"{health_target.http} answers 200" if health_target.http else "the port accepts connections"
        document.note(where, f"carried as: ready when {what}")
    return health_target


def _listen_where_checked(document: ComposeDocument, converted: Converted) -> None:
    """The port of the health check becomes the service's port if the service names none.

    A service that names ports is checked on those: the check runs in the container, where a port may be open on the
    loopback address only.
    """
    target = converted.health_target
    if target is None or target.port is None or target.port in converted.ports.values():
        return
    if not converted.ports:
        converted.port_name(target.port)
        return
    converted.health_target = None
    remedy = f"write expose: [{target.port}], or x-loadstone: {{readiness: ...}}"
    text = f"not carried: port {target.port} is none of its ports and may be open inside the container alone; {remedy}"
    document.note(("services", converted.name, "healthcheck", "test"), text)


def _is_not_restarted(service: ComposeService) -> bool:
    return service.restart == "no" or service.deploy.restart_policy.condition == "none"


def _note_deploy(document: ComposeDocument, name: str, service: ComposeService) -> None:
    where: KeyPath = ("services", name, "deploy")
    if service.deploy.mode != "replicated":
        document.note((*where, "mode"), f"not carried: {service.deploy.mode!r}; one replica, or write replicas")
    for index, constraint in enumerate(service.deploy.placement.constraints):
        if not _REMOTE.fullmatch(constraint.strip()):
            remedy = f"write placement: {{services: {{{fitting(name)}: [worker-1]}}}} in the study"
            document.note((*where, "placement", "constraints", index), f"not carried: {constraint!r}; {remedy}")
    if _is_not_restarted(service):
        place = (*where, "restart_policy", "condition") if service.restart != "no" else ("services", name, "restart")
        document.note(place, "not carried: a container that ends is started again")


def as_data(converted: Converted, names: dict[str, str], tier: str, readiness: Any) -> dict[str, Any]:
    """The service as an application file has it; ``names`` are services' names there by those in the compose file."""
    service = converted.compose
    memory = service.memory()
    resources = {"cpu": service.cpu(), "memory": format_memory(memory) if memory else None}
    data = {
        "tier": tier,
        "runs": {"image": service.image},
        "ports": converted.ports,
        "needs": [names[need] for need in converted.needs],
        "resources": {key: value for key, value in resources.items() if value},
        "replicas": service.replicas(),
        "readiness": readiness or _readiness(converted),
        "entrypoint": service.entrypoint,
        "command": service.command,
        "environment": converted.environment,
        "configs": converted.mounts.configs,
        "volumes": converted.mounts.volumes,
    }
    return {key: value for key, value in data.items() if value not in (None, {}, [])}


def _readiness(converted: Converted) -> dict[str, Any]:
    health_target, check = converted.health_target, converted.compose.healthcheck
    found: dict[str, Any] = {}
    if health_target is not None and health_target.port is not None:
        found["port"] = converted.port_name(health_target.port)
    elif health_target is not None and health_target.http is not None and converted.ports:
        found["port"] = next(iter(converted.ports))
    if health_target is not None and health_target.http is not None and "port" in found:
        found["http"] = health_target.http
    if (
        check is not None
        and check.is_active()
        and (longest := check.start_period + check.retries * check.interval) > _READY_S
    ):
        found["within"] = format_seconds(longest)
    return found
