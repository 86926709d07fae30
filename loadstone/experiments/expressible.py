"""Finds what a study's orchestrators, infrastructure and load driver cannot do, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loadstone import plugins
from loadstone.experiments import external
from loadstone.infrastructure.base import Infrastructure
from loadstone.model.application import Application
from loadstone.model.base import Finding, abridged, did_you_mean
from loadstone.model.cluster import Cluster
from loadstone.model.environment import GUESTS, Environment, in_given_guest
from loadstone.model.load import SCRIPT, Closed, Load
from loadstone.model.slo import key_of
from loadstone.model.study import Settings, Study
from loadstone.model.workload import Workload
from loadstone.orchestration.base import Orchestrator
from loadstone.workloads.base import Driver

_COMMON = {"arrival", "rates", "capacity", "closed", "slo", "connections", "driver", "seed"}
"""Keys of ``load`` that every driver follows, as far as it says that it can."""

_OF_CLIENTS = ("think", "pace", "requests", "iterations")
"""Keys of ``load.closed`` that a driver follows where it says so."""

_NOT_EVERYWHERE = ("hosts", "instances", "inventory", "link")
"""Keys of ``cluster`` that only some infrastructures follow, and say so."""


def findings(study: Study, application: Application, treatments: Sequence[Settings]) -> Iterator[Finding]:
    """Everything that cannot be expressed of one treatment's study, at its key, beside all ``treatments``."""
    if application.url is not None:
        yield from external.findings(study, application.url)
        yield from _by_driver(study, application)
        return
    yield from _by_orchestrator(study)
    yield from _environment(study, treatments)
    yield from _guest(study, treatments)
    yield from _images(study, application)
    yield from _by_infrastructure(study, treatments)
    yield from _by_driver(study, application)
    protocol = _protocol(study, application)
    yield from _by_protocol(study, protocol)
    yield from _by_proxy(study, protocol)
    yield from _by_stacks(study)
    if study.cluster.managers is not None and len({each.high_availability for each in treatments}) > 1:
        yield ("cluster", "managers"), "high_availability also sets the number of managers; remove one of the two"


def _by_stacks(study: Study) -> Iterator[Finding]:
    _, orchestrator = _orchestrator(study)
    if study.stacks.elastic is not None and orchestrator is not None and not orchestrator.runs_containers():
        yield (
            ("stacks", "elastic"),
            f"runs from images, which orchestrator {orchestrator.name!r} does not run; choose another",
        )


def _by_orchestrator(study: Study) -> Iterator[Finding]:
    known = plugins.names("orchestrators")
    where, name = _named_orchestrator(study)
    if name not in known:
        yield where, f"no orchestrator {name!r}" + did_you_mean(str(name), known)
        return
    orchestrator: type[Orchestrator] = plugins.find("orchestrators", name)
    for key, possible in orchestrator.levels().items():
        if (level := getattr(study, key)) not in {None, *possible}:
            yield (key,), _cannot(f"{key} {level!r}", f"orchestrator {name!r}", possible)


def _named_orchestrator(study: Study) -> tuple[tuple[str, ...], str]:
    """The orchestrator's name, and the key that gives it: where none does, the environment."""
    where = "orchestrator" if "orchestrator" in study.model_fields_set else "environment"
    return (where,), study.settings.orchestrator


def _environment(study: Study, treatments: Sequence[Settings]) -> Iterator[Finding]:
    """A virtual machine that is not made, and levels that are the same on machines that are virtual already."""
    level = study.environment
    if study.cluster.infrastructure not in plugins.names("infrastructure") or level is None:
        return
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", study.cluster.infrastructure)
    if level in infrastructure.makes:
        yield from _in_guests(study, infrastructure, level)
        return
    virtual = study.cluster.machine == "vm"
    if level in GUESTS and not virtual:
        able = [each.name for each in _registered("infrastructure") if level in each.makes]
        other = f"set cluster: {{infrastructure: {' or '.join(able)}}}, or " if able else ""
        message = f"infrastructure {infrastructure.name!r} makes no virtual machines for {level!r}"
        yield ("environment",), f"{message}; {other}declare cluster: {{machine: vm}} where its machines are virtual"
    levels = [each.environment for each in treatments if each.environment is not None]
    levels = [each for each in levels if each not in infrastructure.makes]
    same = next((each for each in levels if in_given_guest(each) == in_given_guest(level)), level)
    if virtual and same != level:
        yield ("environment",), f"{level!r} is the same as {same!r} on machines that are virtual; keep one"


def _in_guests(study: Study, infrastructure: type[Infrastructure], level: Environment) -> Iterator[Finding]:
    """An orchestrator whose software is not put in virtual machines."""
    where, orchestrator = _orchestrator(study)
    able = [
        each.name
        for each in _registered("orchestrators")
        if level in each.environments and each.software in infrastructure.makes[level]
    ]
    if orchestrator is not None and level in orchestrator.environments and orchestrator.name not in able:
        message = f"orchestrator {orchestrator.name!r} does not run in virtual machines of {infrastructure.name!r}"
        yield where, f"{message}; choose {' or '.join(able)}"


def _guest(study: Study, treatments: Sequence[Settings]) -> Iterator[Finding]:
    """Settings of virtual machines that no treatment has, and those by which environments would differ in cores."""
    environments = {each.environment for each in treatments}
    if study.vm is not None and not environments & GUESTS:
        yield ("vm",), "no treatment runs in a virtual machine; remove it, or write environment: vm"
    elif study.vm is not None and study.vm.cpus is not None and environments - GUESTS:
        yield ("vm", "cpus"), "environments are compared on equal cores; remove it: guests have as many as their hosts"


def _images(study: Study, application: Application) -> Iterator[Finding]:
    """Images need an orchestrator of containers."""
    images = [name for name, service in application.services.items() if service.runs.image is not None]
    if not images:
        return
    able = [each.name for each in _registered("orchestrators") if each.runs_containers()]
    where, orchestrator = _orchestrator(study)
    if orchestrator is not None and not orchestrator.runs_containers():
        named = abridged(images, 3)
        message = f"orchestrator {orchestrator.name!r} cannot run images, which {application.name} uses ({named})"
        yield where, f"{message}; choose {' or '.join(able) or 'one that does'}"


def _registered(layer: str) -> list[Any]:
    return [plugins.find(layer, name) for name in plugins.names(layer)]


def _orchestrator(study: Study) -> tuple[tuple[str, ...], type[Orchestrator] | None]:
    """The orchestrator with the key that gives it; None where there is no such orchestrator."""
    where, name = _named_orchestrator(study)
    return where, plugins.find("orchestrators", name) if _known(name) else None


def _known(name: str) -> bool:
    return name in plugins.names("orchestrators")


def _by_infrastructure(study: Study, treatments: Sequence[Settings]) -> Iterator[Finding]:
    cluster, known = study.cluster, plugins.names("infrastructure")
    name = cluster.infrastructure
    if name not in known:
        yield ("cluster", "infrastructure"), f"no infrastructure {name!r}" + did_you_mean(name, known)
        return
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", name)
    where, orchestrator = _orchestrator(study)
    if orchestrator is not None and orchestrator.software not in infrastructure.software:
        able = [each.name for each in _registered("infrastructure") if orchestrator.software in each.software]
        message = f"orchestrator {orchestrator.name!r} does not run on infrastructure {name!r}"
        yield where, f"{message}; set cluster: {{infrastructure: {' or '.join(able) or 'none has it'}}}"
    yield from _unfollowed(cluster, infrastructure)
    yield from ((("cluster", *path), text) for path, text in infrastructure.objections(cluster))
    if orchestrator is not None and orchestrator.single_worker and cluster.workers > 1:
        message = f"orchestrator {orchestrator.name!r} runs on one worker, not {cluster.workers}"
        yield ("cluster", "workers"), f"{message}; set it to 1, or use another orchestrator"
    known = [name for name in dict.fromkeys(each.orchestrator for each in treatments) if _known(name)]
    if cluster.managers and known and not any(plugins.find("orchestrators", name).managed for name in known):
        yield ("cluster", "managers"), f"{', '.join(known)} has no managers; remove it, or set it to 0"


def _unfollowed(cluster: Cluster, infrastructure: type[Infrastructure]) -> Iterator[Finding]:
    """Keys that other infrastructures follow, and this does not."""
    for key in _NOT_EVERYWHERE:
        if key not in infrastructure.follows and getattr(cluster, key) is not None:
            able = [each.name for each in _registered("infrastructure") if key in each.follows]
            other = f", or set cluster: {{infrastructure: {' or '.join(able)}}}" if able else ""
            yield (
                ("cluster", key),
                f"infrastructure {infrastructure.name!r} does not support this key; remove it{other}",
            )


def _by_driver(study: Study, application: Application) -> Iterator[Finding]:
    load, name = study.load, study.load.driver
    known = plugins.names("drivers")
    if name not in known:
        yield ("load", "driver"), f"no driver {name!r}" + did_you_mean(name, known)
        return
    driver: type[Driver] = plugins.find("drivers", name)
    for key, possible in driver.expresses.items():
        names = {level: _NAMES.get(level, level) for level in possible}
        for place, level in _driven(study, application, key):
            if level not in possible:
                what = f"arrival {level!r}" if key == "arrival" else f"{_NAMES.get(level, level)}"
                yield place, _cannot(what, f"driver {name!r}", names.values())
    if driver.honours is not None:
        for key in _given(load):
            if key not in _COMMON | driver.honours | set(driver.expresses):
                where = ("load", "closed", key) if key in _OF_CLIENTS else ("load", key)
                yield where, f"{key!r} cannot be expressed by driver {name!r}; remove it, or use driver 'stone'"
        counted = [("requests",)] if study.trial.requests is not None else []
        counted += [("warmup",)] if study.trial.warmup_requests is not None else []
        for path in counted:
            message = f"a number of requests cannot be expressed by driver {name!r}; give a duration"
            yield ("trial", *path), f"{message}, or use driver 'stone'"
    yield from _steps_of_clients(study, application)
    yield from driver.objections(load, study.trial)


def _steps_of_clients(study: Study, application: Application) -> Iterator[Finding]:
    """Sessions of clients whose requests are counted or paced one by one."""
    closed = study.load.closed
    if closed is None or not (study.trial.counts(study.load) or closed.pace is not None):
        return
    workload = application.workloads.get(study.workload or application.default_workload)
    stepped = [name for name, operation in workload.operations.items() if operation.steps] if workload else []
    if stepped:
        message = f"{abridged(stepped, 3)} of several steps, and the clients' requests are counted or paced one by one"
        yield ("workload",), f"{message}; choose a workload without steps, or remove 'requests' and 'pace'"


_NAMES = {
    "mix": "more than one request (several operations, steps, random fields or expectations)",
    "request": "a single request",
    "script": "a Lua script",
}


def _protocol(study: Study, application: Application) -> str:
    """The protocol of the study's requests."""
    workload = application.workloads.get(study.workload or application.default_workload)
    return (workload and workload.protocol) or study.load.protocol


def _by_protocol(study: Study, protocol: str) -> Iterator[Finding]:
    """Settings of connections that do not go with the protocol of the workload."""
    if study.load.protocol != protocol:
        yield from ((("load", *path), text) for path, text in study.load.wrong_connections(protocol))
        if "protocol" in study.load.model_fields_set:
            yield ("load", "protocol"), f"the workload is loaded over {protocol}; remove it"


def _by_proxy(study: Study, protocol: str) -> Iterator[Finding]:
    """NGINX is configured for HTTP/1.1 without TLS."""
    if study.proxy is not None and protocol != "http/1.1":
        yield ("proxy",), f"{protocol} does not pass through nginx; write protocol: http/1.1, or leave it out"
    if study.proxy is not None and study.load.tls is not None:
        yield ("proxy",), "nginx answers without TLS here; remove load.tls, or leave it out"


def _driven(study: Study, application: Application, key: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The levels of what a driver may not be able to express, each with its place."""
    if key == "load":
        yield from ((("load", kind), kind) for kind in ("rates", "capacity", "closed") if getattr(study.load, kind))
    elif key == "workload":
        yield ("workload",), _kind(study.workload, application)
    elif key == "slo" and study.load.objective is not None:
        where = ("load", "capacity", "slo") if study.load.capacity is not None else ("load", "slo")
        yield from (((*where, key_of(percentile)), key_of(percentile)) for percentile in study.load.objective.limits)
    elif key == "protocol":
        yield ("load", key), _protocol(study, application)
    elif key != "slo" and (key != "arrival" or study.load.closed is None):
        yield ("load", key), str(getattr(study.load, key))


def _kind(name: str | None, application: Application) -> str:
    if name is not None and name.endswith(SCRIPT):
        return "script"
    workload = application.workloads.get(name or application.default_workload)
    return "request" if workload is not None and is_single_request(workload) else "mix"


def is_single_request(workload: Workload) -> bool:
    """Whether every request of a workload is the same, and any status below 400 a good answer."""
    first, *more = workload.operations.values()
    return not more and first.steps is None and not first.fields and first.expect is None


def _given(load: Load) -> Iterator[str]:
    """The keys that are not as they are when left out."""
    fields = type(load).model_fields
    yield from (key for key in fields if getattr(load, key) != fields[key].get_default(call_default_factory=True))
    if load.closed is not None:
        yield from (key for key in _OF_CLIENTS if getattr(load.closed, key) != Closed.model_fields[key].default)


def _cannot(what: str, adapter: str, possible: Iterable[str]) -> str:
    return f"{what} cannot be expressed by {adapter}; it can: {', '.join(sorted(possible))}"
