"""Compose files as applications, read as ``docker compose`` reads them.

The services of a compose file become services that run images. Nothing is dropped in silence: what cannot be carried,
and what had to be guessed, stands in the notes with its line and the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadstone.applications.compose_import import completion, uncarried
from loadstone.applications.compose_import.entry import entrance, workload_entries
from loadstone.applications.compose_import.network_names import note_names
from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.schema import EXTENSION, KEYS, ComposeFile
from loadstone.applications.compose_import.services import Converted, as_data, convert, fitting
from loadstone.applications.compose_import.sources import ComposeSource
from loadstone.model.base import did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem
from loadstone.model.messages import KeyPath

FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""What compose itself looks for in a folder, in this order."""
OVERRIDES = tuple(f"{name}.override.{ending}" for name in ("compose", "docker-compose") for ending in ("yml", "yaml"))
"""What it reads beside it."""
_OWN_KEYS = {"tier", "runs"}


class ImportedApplication(Document):
    """An application's data whose problems are named where the compose file has what is wrong."""

    def __init__(self, source: ComposeDocument, data: dict[str, Any], places: dict[KeyPath, KeyPath]) -> None:
        self.file = source.file
        self.data = data
        self.notes = sorted(dict.fromkeys(source.notes), key=lambda note: note.line)
        """What is not carried, and what is guessed."""
        self._source = source
        self._places = places

    def problem(self, path: Any, text: str) -> Problem:
        parts = tuple(path)
        for length in range(len(parts), 0, -1):
            if (place := self._places.get(parts[:length])) is not None:
                return self._source.problem((*place, *parts[length:]), text)
        return self._source.problem(parts, text)


def is_compose(document: Document) -> bool:
    """Whether a file is a compose file: it includes others, or has services, and none is what an application file calls
    one."""
    services = document.data.get("services")
    if EXTENSION in document.data or "include" in document.data:
        return True
    if not isinstance(services, dict) or {"entry", "workloads", "default_workload"} & set(document.data):
        return False
    return not any(isinstance(service, dict) and _OWN_KEYS & set(service) for service in services.values())


def read(files: list[Path]) -> ImportedApplication:
    """Compose files as the data of an application, not checked yet; raises InputError for what cannot be carried.

    ``files``: as ``docker compose -f FILE -f FILE`` takes them: a later one overrides those before it.
    """
    document = ComposeDocument(files, _profiles(files), KEYS)
    compose = _carried(document)
    extension = compose.loadstone
    services = _converted(document, compose)
    names = _names(document, services)
    completion.guess_needs(document, services)
    entry, port = entrance(document, extension.entry, services)
    entry_port = entry.port_name(port)
    entries = workload_entries(document, extension.workloads, services)
    readiness = completion.readiness(document, extension, services)
    completion.guess_ports(document, services)
    tiers = completion.tiers(document, extension, services, entry)
    if carried := sorted(set(document.carried)):
        document.note((), f"carried into the results: {', '.join(carried)}")
    note_names(document, services, names)
    completion.note_spoiled(document, services)
    completion.note_ways_in(document, services, [(entry, port), *entries.values()])
    data = {
        "name": extension.name or fitting(compose.name),
        "description": extension.description or f"Imported from {files[0].name}.",
        "entry": {"service": names[entry.name], "port": entry_port},
        "services": {
            names[name]: as_data(service, names, tiers[name], readiness.get(name)) for name, service in services.items()
        },
        **completion.workloads(
            document,
            extension,
            {name: f"{names[each.name]}:{each.port_name(port)}" for name, (each, port) in entries.items()},
        ),
    }
    if extension.commands():
        data["data"] = extension.commands() | {"folder": str(document.folder.resolve())}
    if extension.paper_resources:
        data["paper_resources"] = extension.paper_resources
    return ImportedApplication(document, data, dict(_places(services, names, readiness)))


def _profiles(files: list[Path]) -> list[str]:
    """The profiles that ``x-loadstone`` enables; compose itself takes them from ``COMPOSE_PROFILES``."""
    extensions = [ComposeSource.read(file).data.get(EXTENSION) for file in files]
    found = [it["profiles"] for it in extensions if isinstance(it, dict) and isinstance(it.get("profiles"), list)]
    return [str(name) for names in found for name in names]


def _carried(document: ComposeDocument) -> ComposeFile:
    """The project without what is not carried; services of profiles that are not enabled are noted."""
    problems: list[Problem] = []
    uncarried.taken_out(
        document.data,
        document.written,
        document.note,
        lambda path, text: problems.append(document.problem(path, text)),
    )
    if problems:
        raise InputError(problems)
    for name, profiles in document.disabled.items():
        text = f"left out: it runs for the profile {' or '.join(profiles)} only; write x-loadstone: {{profiles: [...]}}"
        document.note(("services", name, "profiles"), text)
    _leave_out(document)
    for beside in OVERRIDES:
        read = [source.file for source in document.sources]
        if Path(document.file).name in FILES and (document.folder / beside).exists() and len(read) == 1:
            text = f"{beside} is not read; name the folder of both, or {Path(document.file).name}:{beside}"
            document.note((), text)
    return document.parse(ComposeFile)


def _leave_out(document: ComposeDocument) -> None:
    """Remove the services that ``x-loadstone``, not checked yet, leaves out, and what others need of them."""
    extension, services = document.data.get(EXTENSION), document.data["services"]
    names = extension.get("without") if isinstance(extension, dict) else None
    for index, name in enumerate(names if isinstance(names, list) else []):
        if not isinstance(name, str):
            continue
        if name not in services:
            text = f"no service {name!r}" + did_you_mean(name, list(services))
            raise InputError([document.problem((EXTENSION, "without", index), text)])
        del services[name]
        for service in services.values():
            service.get("depends_on", {}).pop(name, None)


def _converted(document: ComposeDocument, compose: ComposeFile) -> dict[str, Converted]:
    """All services, or what is wrong with all of them."""
    found: dict[str, Converted] = {}
    problems: list[Problem] = []
    for name in compose.services:
        try:
            found[name] = convert(document, compose, name)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return found


def _names(document: ComposeDocument, services: dict[str, Converted]) -> dict[str, str]:
    """The names of services in the application by those in the compose file."""
    names: dict[str, str] = {}
    for name in services:
        fit = fitting(name)
        if fit in names.values():
            text = f"would be called {fit!r}, as another service is; names have lower-case letters, digits and '-'"
            raise InputError([document.problem(("services", name), text)])
        names[name] = fit
    return names


def _places(
    services: dict[str, Converted], names: dict[str, str], readiness: dict[str, Any]
) -> list[tuple[KeyPath, KeyPath]]:
    """Where the compose file has what an application file has elsewhere."""
    ours = ("name", "description", "entry", "workloads", "default_workload", "paper_resources")
    found: list[tuple[KeyPath, KeyPath]] = [((key,), (EXTENSION, key)) for key in ours]
    for name, service in services.items():
        here, there = ("services", names[name]), ("services", name)
        found += [(here, there), ((*here, "runs", "image"), (*there, "image"))]
        for index, where in enumerate(service.needs.values()):
            found += [((*here, "needs"), (*there, "depends_on")), ((*here, "needs", index), where)]
        found += [((*here, "configs", path), service.mounts.places[path]) for path in service.mounts.configs]
        found += [
            ((*here, "volumes", index), service.mounts.places[path])
            for index, path in enumerate(service.mounts.volumes)
        ]
        limits = (*there, "deploy", "resources", "limits")
        deployed = service.compose.deploy.resources.limits
        found.append(((*here, "resources", "cpu"), (*limits, "cpus") if deployed.cpus else (*there, "cpus")))
        found.append(
            ((*here, "resources", "memory"), (*limits, "memory") if deployed.memory else (*there, "mem_limit"))
        )
        replicas = (*there, "deploy", "replicas") if service.compose.deploy.replicas is not None else (*there, "scale")
        found.append(((*here, "replicas"), replicas))
        found.append(((*here, "tier"), (EXTENSION, "tiers", name)))
        if name in readiness:
            found.append(((*here, "readiness"), (EXTENSION, "readiness", name)))
    return found
