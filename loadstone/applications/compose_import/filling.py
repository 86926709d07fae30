"""Completes what a compose file lacks: from ``x-loadstone``, else by a guess, which is noted."""

from __future__ import annotations

from typing import Any

from loadstone.applications.compose_import import guessing
from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.schema import EXTENSION, Extension
from loadstone.applications.compose_import.services import Converted
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError

_MADE = {"get-root": {"operations": {"get": {"path": "/"}}}}


def guess_ports(document: ComposeDocument, services: dict[str, Converted]) -> None:
    """Ports for services that name none: those of the image, or those that other services connect to."""
    texts = [text for service in services.values() for text in service.texts().values()]
    for name, service in services.items():
        if service.ports:
            continue
        known = guessing.known(service.compose.image or "")
        for port in [known.port] if known else guessing.ports_of(name, texts):
            service.port_name(port)
        if known is None and service.ports:
            ports_text = ", ".join(map(str, service.ports.values()))
            document.note(
                ("services", name),
                f"guessed: listens on {ports_text}, as other services connect there; else write expose",
            )
        elif not service.ports:
            text = "no port of it is known: it counts as ready when it runs, and on Nomad and Kubernetes none finds it"
            document.note(("services", name), f'{text}; write expose: ["8080"]')


def guess_needs(document: ComposeDocument, services: dict[str, Converted]) -> None:
    """A service needs the services whose addresses it has, unless they need it: orchestrators resolve needs only."""
    for name, service in services.items():
        texts = list(service.texts().values())
        spoken = [other for other in services if other != name and guessing.addresses(other, texts)]
        found = [other for other in spoken if other not in service.needs and name not in _all_needs(other, services)]
        service.needs |= dict.fromkeys(found, ("services", name))
        if found:
            text = f"guessed: needs {', '.join(found)}, as its variables, arguments or files speak of it"
            document.note(("services", name), text)


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
        known = guessing.known(service.compose.image or "")
        tier = "frontend" if service is entry else known.tier if known else "logic"
        tiers[name] = extension.tiers.get(name, tier)
        if name not in extension.tiers:
            guessed.setdefault(tier, []).append(name)
        if tiers[name] in ("caching", "storage"):
            document.note(("services", name), "not emptied between trials: each finds what those before it wrote")
    if guessed:
        listing = "; ".join(f"{tier}: {', '.join(named)}" for tier, named in guessed.items())
        document.note(
            ("services",), f"tiers are guessed from images ({listing}); else write x-loadstone: {{tiers: ...}}"
        )
    return tiers


def note_ways_in(document: ComposeDocument, services: dict[str, Converted], entry: Converted, port: int) -> None:
    for name, service in services.items():
        for index, mapped in enumerate(service.compose.ports):
            where = ("services", name, "ports", index)
            if mapped.protocol != "tcp":
                continue
            if service is not entry or port not in mapped.numbers():
                document.note(where, "not published: requests enter at one port; inside the application it is reached")
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
        if isinstance(port, int) and 0 < port < 65536:
            given = {**given, "port": services[name].port_name(port)}
        found[name] = given
    return found


def workloads(document: ComposeDocument, extension: Extension) -> dict[str, Any]:
    """The workloads, and which of them is the default: an only one need not be named."""
    if not extension.workloads:
        document.note((EXTENSION, "workloads"), "none is given, so there is one: GET / (get-root)")
    workloads = extension.workloads or _MADE
    default = extension.default_workload or (next(iter(workloads)) if len(workloads) == 1 else None)
    return {"workloads": workloads} | ({"default_workload": default} if default else {})
