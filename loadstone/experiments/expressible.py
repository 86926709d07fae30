"""Finds what a study's orchestrators, infrastructure and load driver cannot do, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from loadstone import plugins
from loadstone.infrastructure.base import Infrastructure
from loadstone.model.application import Application
from loadstone.model.base import Finding, abridged, did_you_mean
from loadstone.model.cluster import Cluster
from loadstone.model.environment import GUESTS, in_given_guest, orchestrator_for
from loadstone.model.load import SCRIPT, Load
from loadstone.model.slo import key_of
from loadstone.model.study import Settings, Study
from loadstone.model.workload import Workload
from loadstone.orchestration.base import Orchestrator
from loadstone.workloads.base import Driver

_COMMON = {"arrival", "rates", "capacity", "closed", "slo", "connections", "driver", "seed"}
"""Keys of ``load`` that every driver follows, as far as it says that it can."""

_NOT_EVERYWHERE = ("hosts", "inventory", "link")
"""Keys of ``cluster`` that only some infrastructures follow, and say so."""


def findings(study: Study, application: Application) -> Iterator[Finding]:
    """Everything that cannot be expressed, at its key."""
    yield from _by_orchestrators(study)
    yield from _environments(study)
    yield from _guests(study)
    yield from _images(study, application)
    yield from _by_infrastructure(study)
    yield from _by_driver(study, application)
    yield from _by_proxy(study)
    yield from _by_stacks(study)


def _by_stacks(study: Study) -> Iterator[Finding]:
    if study.stacks.elastic is None:
        return
    for _, name in _named_orchestrators(study):
        if name in plugins.names("orchestrators") and not plugins.find("orchestrators", name).runs_containers():
            yield ("stacks", "elastic"), f"runs from images, which orchestrator {name!r} does not run; choose another"


def levels(study: Study, factor: str) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Each level of a factor with the place in the file that gives it."""
    if factor not in study.factors:
        yield (factor,), getattr(study, factor)
        return
    for index, level in enumerate(study.levels(factor)):
        yield ("factors", factor, index), getattr(Settings.model_validate({factor: level}), factor)


def _by_orchestrators(study: Study) -> Iterator[Finding]:
    known = plugins.names("orchestrators")
    for where, name in _named_orchestrators(study):
        if name not in known:
            yield where, f"no orchestrator {name!r}" + did_you_mean(str(name), known)
            continue
        orchestrator: type[Orchestrator] = plugins.find("orchestrators", name)
        treatments = [treatment for treatment in study.treatments() if treatment.orchestrator == name]
        for factor, possible in orchestrator.levels().items():
            for place, level in levels(study, factor):
                if level not in {None, *possible} and any(getattr(each, factor) == level for each in treatments):
                    yield place, _cannot(f"{factor} {level!r}", f"orchestrator {name!r}", possible)


def _named_orchestrators(study: Study) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The names of orchestrators, each with what gives it; where none does, the levels of the environment."""
    if "orchestrator" in {*study.model_fields_set, *study.factors}:
        yield from levels(study, "orchestrator")
        return
    for where, level in levels(study, "environment"):
        yield where, orchestrator_for(level, study.cluster.workers)


def _environments(study: Study) -> Iterator[Finding]:
    """Virtual machines that are not made, and levels that are the same on machines that are virtual already."""
    known = plugins.names("infrastructure")
    if study.cluster.infrastructure not in known:
        return
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", study.cluster.infrastructure)
    virtual = study.cluster.machine == "vm"
    seen: dict[str, str] = {}
    for where, level in levels(study, "environment"):
        if level is None or level in infrastructure.makes:
            continue
        if level in GUESTS and not virtual:
            able = [each.name for each in _registered("infrastructure") if level in each.makes]
            other = f"set cluster: {{infrastructure: {' or '.join(able)}}}, or " if able else ""
            message = f"infrastructure {infrastructure.name!r} makes no virtual machines for {level!r}"
            yield where, f"{message}; {other}declare cluster: {{machine: vm}} where its machines are virtual"
        same = seen.setdefault(in_given_guest(level), level)
        if virtual and same != level:
            yield where, f"{level!r} is the same as {same!r} on machines that are virtual; keep one"


def _guests(study: Study) -> Iterator[Finding]:
    """Settings of virtual machines that no treatment has, and those by which environments would differ in cores."""
    environments = {level for _, level in levels(study, "environment")}
    for where, vm in levels(study, "vm"):
        if vm is not None and not environments & GUESTS:
            yield where, "no treatment runs in a virtual machine; remove it, or write environment: vm"
        elif vm is not None and vm.cpus is not None and environments - GUESTS:
            message = "environments are compared on equal cores; remove it: guests have as many as their hosts"
            yield (*where, "cpus"), message


def _images(study: Study, application: Application) -> Iterator[Finding]:
    """Images need an orchestrator of containers."""
    images = [name for name, service in application.services.items() if service.runs.image is not None]
    if not images:
        return
    able = [each.name for each in _registered("orchestrators") if each.runs_containers()]
    for where, orchestrator in _orchestrators(study):
        if not orchestrator.runs_containers():
            named = abridged(images, 3)
            message = f"orchestrator {orchestrator.name!r} cannot run images, which {application.name} uses ({named})"
            yield where, f"{message}; choose {' or '.join(able) or 'one that does'}"


def _registered(layer: str) -> list[Any]:
    return [plugins.find(layer, name) for name in plugins.names(layer)]


def _orchestrators(study: Study) -> list[tuple[tuple[str | int, ...], type[Orchestrator]]]:
    """The orchestrators of a study that there are, each with its place in the file."""
    known = plugins.names("orchestrators")
    return [
        (where, plugins.find("orchestrators", name)) for where, name in _named_orchestrators(study) if name in known
    ]


def _by_infrastructure(study: Study) -> Iterator[Finding]:
    cluster, known = study.cluster, plugins.names("infrastructure")
    name = cluster.infrastructure
    if name not in known:
        yield ("cluster", "infrastructure"), f"no infrastructure {name!r}" + did_you_mean(name, known)
        return
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", name)
    chosen = _orchestrators(study)
    for where, orchestrator in chosen:
        if orchestrator.software not in infrastructure.software:
            able = [each.name for each in _registered("infrastructure") if orchestrator.software in each.software]
            message = f"orchestrator {orchestrator.name!r} does not run on infrastructure {name!r}"
            yield where, f"{message}; set cluster: {{infrastructure: {' or '.join(able) or 'none has it'}}}"
    yield from _unfollowed(cluster, infrastructure)
    yield from ((("cluster", *path), text) for path, text in infrastructure.objections(cluster))
    if cluster.workers > 1:
        for _, orchestrator in chosen:
            if orchestrator.single_worker:
                message = f"orchestrator {orchestrator.name!r} runs on one worker, not {cluster.workers}"
                yield ("cluster", "workers"), f"{message}; set it to 1, or use another orchestrator"
    if cluster.managers and chosen and not any(orchestrator.managed for _, orchestrator in chosen):
        names = ", ".join(orchestrator.name for _, orchestrator in chosen)
        yield ("cluster", "managers"), f"{names} has no managers; remove it, or set it to 0"
    if cluster.managers is not None and "high_availability" in study.factors:
        yield ("cluster", "managers"), "high_availability also sets the number of managers; remove one of the two"


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
                where = ("load", "closed", "think") if key == "think" else ("load", key)
                yield where, f"{key!r} cannot be expressed by driver {name!r}; remove it, or use driver 'stone'"
    yield from driver.objections(load, study.trial)


_NAMES = {
    "mix": "more than one request (several operations, steps, random fields or expectations)",
    "request": "a single request",
    "script": "a Lua script",
}


def _by_proxy(study: Study) -> Iterator[Finding]:
    """NGINX is configured for HTTP/1.1 without TLS."""
    proxied = next((where for where, level in levels(study, "proxy") if level is not None), None)
    if proxied is not None and study.load.protocol != "http/1.1":
        yield proxied, f"{study.load.protocol} does not pass through nginx; write protocol: http/1.1, or leave it out"
    if proxied is not None and study.load.tls is not None:
        yield proxied, "nginx answers without TLS here; remove load.tls, or leave it out"


def _driven(study: Study, application: Application, key: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The levels of what a driver may not be able to express, each with its place."""
    if key == "load":
        yield from ((("load", kind), kind) for kind in ("rates", "capacity", "closed") if getattr(study.load, kind))
    elif key == "workload":
        for place, name in levels(study, "workload"):
            yield place, _kind(name, application)
    elif key == "slo" and study.load.objective is not None:
        where = ("load", "capacity", "slo") if study.load.capacity is not None else ("load", "slo")
        yield from (((*where, key_of(percentile)), key_of(percentile)) for percentile in study.load.objective.limits)
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
    if load.closed is not None and load.closed.think > 0:
        yield "think"


def _cannot(what: str, adapter: str, possible: Iterable[str]) -> str:
    return f"{what} cannot be expressed by {adapter}; it can: {', '.join(sorted(possible))}"
