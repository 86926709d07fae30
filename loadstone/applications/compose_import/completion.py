"""Completes what a compose file lacks: from ``x-loadstone``, else by a guess, which is noted."""

from __future__ import annotations

from typing import Any

from loadstone.applications.compose_import import guessing
from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.schema import EXTENSION, Extension
from loadstone.applications.compose_import.services import Converted
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError

_DOCKER_RESOLVER = "127.0.0.11"
_MADE = {"get-root": {"operations": {"get": {"path": "/"}}}}


def guess_ports(document: ComposeDocument, services: dict[str, Converted]) -> None:
    """Ports for services that name none: those of the image, or those that other services connect to."""
    texts = [text for service in services.values() for text in service.texts().values()]
    for name, service in services.items():
        if service.ports:
            continue
        known = guessing.known(service.compose.image or "") if not service.ends(services) else None
        for port in [known.port] if known else guessing.ports_of(name, texts):
            service.port_name(port)
        if known is None and service.ports:
            ports_text = ", ".join(map(str, service.ports.values()))
            document.note(
                ("services", name),
                f"guessed: listens on {ports_text}, as other services connect there; else write expose",
            )
        elif not service.ports:
            text = "no port of it is known: it counts as ready when it runs, and Nomad gives it no name"
            document.note(("services", name), f'{text}; write expose: ["8080"]')


def guess_needs(document: ComposeDocument, services: dict[str, Converted]) -> None:
    """A service needs the services whose addresses or names it has, unless they need it.

    Nomad resolves the names of needs alone.
    """
    for name, service in services.items():
        texts, values = list(service.texts().values()), list(service.environment.values())
        spoken = [
            other
            for other in services
            if other != name and (guessing.addresses(other, texts) or guessing.names(other, values))
        ]
        new = [other for other in spoken if other not in service.needs]
        circular = [other for other in new if name in _all_needs(other, services)]
        found = [other for other in new if other not in circular]
        service.needs |= dict.fromkeys(found, ("services", name))
        if found:
            text = f"guessed: needs {', '.join(found)}, as its variables, arguments or files speak of it"
            document.note(("services", name), text)
        if circular:
            text = f"speaks of {', '.join(circular)}, which needs it: on Nomad it does not find it by name"
            document.note(("services", name), text)


def note_spoiled(document: ComposeDocument, services: dict[str, Converted]) -> None:
    """Note what would spoil a measurement, or work on some orchestrators only."""
    for name, service in services.items():
        if guessing.generates_load(name, service.compose.image or ""):
            text = f"generates load of its own during trials; write x-loadstone: {{without: [{name}]}}"
            document.note(("services", name), text)
        for path, text in service.mounts.configs.items():
            if _DOCKER_RESOLVER in text:
                message = f"{path} names {_DOCKER_RESOLVER}, Docker's own name server, which Nomad and Kubernetes lack"
                document.note(service.mounts.places[path], message)


def _all_needs(name: str, services: dict[str, Converted]) -> set[str]:
    """The services that one needs, and that those need."""
    found: set[str] = set()
    open_ = [name]
    while open_:
        needed = set(services[open_.pop()].needs) - found
        found |= needed
        open_ += needed
    return found


def tiers(
    document: ComposeDocument, extension: Extension, services: dict[str, Converted], entry: Converted
) -> dict[str, str]:
    for name in extension.tiers:
        if name not in services:
            text = f"no service {name!r}" + did_you_mean(name, list(services))
            raise InputError([document.problem((EXTENSION, "tiers", name), text)])
    tiers: dict[str, str] = {}
    guessed: dict[str, list[str]] = {}
    for name, service in services.items():
        tier = "frontend" if service is entry else guessing.tier(name, service.compose.image or "")
        tiers[name] = extension.tiers.get(name, tier)
        if name not in extension.tiers:
            guessed.setdefault(tier, []).append(name)
        if tiers[name] in ("caching", "storage") and extension.reset is None:
            text = "deployed anew before each trial, to be empty; else write x-loadstone: {reset: COMMAND}"
            document.note(("services", name), text)
    if guessed:
        listing = "; ".join(f"{tier}: {', '.join(named)}" for tier, named in guessed.items())
        document.note(
            ("services",),
            f"tiers are guessed from images and names ({listing}), and scaling: horizontal doubles frontend and logic;"
            " else write x-loadstone: {tiers: ...}",
        )
    return tiers


def note_ways_in(
    document: ComposeDocument, services: dict[str, Converted], entries: list[tuple[Converted, int]]
) -> None:
    for name, service in services.items():
        for index, mapped in enumerate(service.compose.ports):
            where = ("services", name, "ports", index)
            if mapped.protocol != "tcp":
                continue
            if not any(service is entry and port in mapped.numbers() for entry, port in entries):
                document.note(where, "not published: no request enters here; inside the application it is reached")
            elif mapped.published not in (None, str(mapped.target)):
                document.note(
                    where,
                    f"not carried: {mapped.published} of the host; `loadstone up` prints the address for requests",
                )


def readiness(
    document: ComposeDocument, extension: Extension, services: dict[str, Converted]
) -> dict[str, dict[str, Any]]:
    """Readiness as ``x-loadstone`` gives it; a port may be given by its number."""
    for name in extension.readiness:
        if name not in services:
            text = f"no service {name!r}" + did_you_mean(name, list(services))
            raise InputError([document.problem((EXTENSION, "readiness", name), text)])
    found = {}
    for name, given in extension.readiness.items():
        port = given.get("port") if isinstance(given, dict) else None
        if type(port) is int and 0 < port < 65536:
            given = {**given, "port": services[name].port_name(port)}
        found[name] = given
    return found


def workloads(document: ComposeDocument, extension: Extension, entries: dict[str, str]) -> dict[str, Any]:
    """The workloads with their ``entries``, and which of them is the default: an only one need not be named."""
    if not extension.workloads:
        document.note((EXTENSION, "workloads"), "none is given, so there is one: GET / (get-root)")
    workloads = {
        name: workload | {"entry": entries[name]} if name in entries else workload
        for name, workload in (extension.workloads or _MADE).items()
    }
    default = extension.default_workload or (next(iter(workloads)) if len(workloads) == 1 else None)
    return {"workloads": workloads} | ({"default_workload": default} if default else {})
