"""Where requests enter the application of a compose file."""

from __future__ import annotations

from typing import Any

from loadstone.applications.compose_import import guessing
from loadstone.applications.compose_import.reading import ComposeDocument
from loadstone.applications.compose_import.services import Converted
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError
from loadstone.model.messages import KeyPath

_REMEDY = "write x-loadstone: {entry: SERVICE:PORT}"


def entrance(document: ComposeDocument, given: Any, services: dict[str, Converted]) -> tuple[Converted, int]:
    """The service that requests enter, and its port: as ``given``, else by published ports, needs and names.

    Raises InputError where that is not clear.
    """
    if given is not None:
        return _given(document, ("x-loadstone", "entry"), given, services)
    published = {name: service for name, service in services.items() if service.published()}
    if not published:
        raise InputError([document.problem(("services",), f"no service publishes a port to enter by; {_REMEDY}")])
    needed = {need for service in services.values() for need in service.needs}
    first = [name for name, it in published.items() if name not in needed and _is_foreign(it)]
    fronts = [name for name in published if guessing.looks_like_a_front(name)]
    # What nothing needs and is called so; what is called so and a load generator needs; what nothing needs.
    likely = [[name for name in fronts if name in first][:1], fronts, first, list(published)]
    chosen = next((names[0] for names in likely if len(names) == 1), None)
    if chosen is None:
        text = f"requests may enter at {' or '.join(first or published)}; {_REMEDY}"
        raise InputError([document.problem(("services",), text)])
    ports = published[chosen].published()
    if len(published) > 1 or len(ports) > 1:
        document.note(("services", chosen, "ports"), f"guessed: requests enter at {chosen}:{ports[0]}; else {_REMEDY}")
    return published[chosen], ports[0]


def _is_foreign(service: Converted) -> bool:
    """Whether nothing is known of a service's image: it is no store."""
    return guessing.known(service.compose.image or "") is None


def workload_entries(
    document: ComposeDocument, workloads: dict[str, Any], services: dict[str, Converted]
) -> dict[str, tuple[Converted, int]]:
    """The entries of the workloads that give one, ``web:8080``: service and port, which has a name then."""
    found = {}
    for name, workload in workloads.items():
        if isinstance(workload, dict) and workload.get("entry") is not None:
            where = ("x-loadstone", "workloads", name, "entry")
            service, port = found[name] = _given(document, where, workload["entry"], services)
            service.port_name(port)
    return found


def _given(
    document: ComposeDocument, where: KeyPath, given: Any, services: dict[str, Converted]
) -> tuple[Converted, int]:
    """``web:8080``, or ``{service: web, port: http}`` as an application file has it."""
    match given:
        case str() if ":" in given:
            name, _, port = given.partition(":")
        case {"service": str(name), "port": str() | int() as port} if len(given) == 2:
            pass
        case _:
            raise InputError([document.problem(where, "expected SERVICE:PORT, for example web:8080")])
    if name not in services:
        raise InputError([document.problem(where, f"no service {name!r}" + did_you_mean(name, list(services)))])
    ports = services[name].ports
    if port in ports:
        return services[name], ports[port]
    if str(port).isascii() and str(port).isdigit():
        services[name].port_name(int(port))
        return services[name], int(port)
    raise InputError([document.problem(where, f"{name} has no port {port!r}" + did_you_mean(str(port), list(ports)))])
