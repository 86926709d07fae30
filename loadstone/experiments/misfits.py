"""What of a study does not fit its application: names of services, workloads, datasets and tasks it does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone import plugins
from loadstone.model import proxy
from loadstone.model.application import Application, Resources
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.dataset import is_path
from loadstone.model.load import SCRIPT
from loadstone.model.study import Settings, Study
from loadstone.model.trial import Treatment


def findings(study: Study, application: Application, treatments: Sequence[Settings]) -> Iterator[Finding]:
    """All of it, of one treatment's study beside all ``treatments``."""
    services = [*application.services, *([proxy.SERVICE] if study.proxy is not None else []), *study.stacks.given()]
    yield from ((("stacks", *path), text) for path, text in study.stacks.clashes(application.services))
    if study.proxy is not None and proxy.SERVICE in application.services:
        yield ("proxy",), f"{application.name} has a service {proxy.SERVICE!r} of its own; remove it"
    limited = [*services, *study.stacks.services()]
    for name in study.resources:
        if name not in limited and not (name == proxy.SERVICE and any(each.proxy for each in treatments)):
            yield ("resources", name), _no_service(name, application, limited)
    for name in study.replicas:
        if name not in application.services:
            yield ("replicas", name), _no_service(name, application, list(application.services))
    for name in study.placement.services if study.placement is not None else ():
        if name not in services:
            yield ("placement", "services", name), _no_service(name, application, services)
    for name in study.delays or ():
        if name not in application.services or application.services[name].runs.stone is None:
            ours = [name for name, service in application.services.items() if service.runs.stone is not None]
            message = f"{application.name} has no service {name!r} that supports delays"
            yield ("delays", name), message + did_you_mean(name, ours)
    yield from _wrong_tasks(study, application)
    yield from _wrong_interference(study, services)
    yield from _wrong_names(study, application)
    if study.load.script is not None and not any(str(each.workload).endswith(SCRIPT) for each in treatments):
        yield ("load", "script"), "no workload of this study is a Lua script; remove it, or write workload: mine.lua"


def _no_service(name: str, application: Application, services: list[str]) -> str:
    return f"{application.name} has no service {name!r}" + did_you_mean(name, services)


def _wrong_names(study: Study, application: Application) -> Iterator[Finding]:
    workload, dataset = study.workload, study.dataset
    if workload is not None and workload not in application.workloads and not workload.endswith(SCRIPT):
        known = list(application.workloads)
        yield ("workload",), f"{application.name} has no workload {workload!r}" + did_you_mean(workload, known)
    if dataset is not None and not application.datasets:
        yield ("dataset",), f"{application.name} has no datasets; remove it"
    elif dataset is not None and dataset not in application.datasets and not is_path(dataset):
        known = list(application.datasets)
        yield ("dataset",), f"{application.name} has no dataset {dataset!r}" + did_you_mean(dataset, known)


def _wrong_tasks(study: Study, application: Application) -> Iterator[Finding]:
    """Parameters of tasks that a service does not do."""
    able = [name for name, service in application.services.items() if service.tasks.given()]
    for name, given in (study.tasks or {}).items():
        if name not in able:
            message = f"{application.name} has no service {name!r} with tasks"
            yield ("tasks", name), message + did_you_mean(name, able)
            continue
        known = application.services[name].tasks.given()
        for key in given.given():
            if key not in known:
                message = f"{name} has no task with parameter {key!r}" + did_you_mean(key, list(known))
                yield ("tasks", name, key), message


def _wrong_interference(study: Study, services: list[str]) -> Iterator[Finding]:
    """A stressor on what is neither a service nor a worker; names of an infrastructure's own are seen at preflight."""
    infrastructure = study.cluster.infrastructure
    named = infrastructure in plugins.names("infrastructure")
    if not named or not plugins.find("infrastructure", infrastructure).names_workers:
        return
    places = [*services, *(f"worker-{number + 1}" for number in range(study.cluster.workers))]
    wanted = study.interference
    if wanted is not None and wanted.on is not None and wanted.on not in places:
        yield ("interference", "on"), f"no service or worker {wanted.on!r}" + did_you_mean(wanted.on, places)


def unscaled(study: Study, application: Application) -> str | None:
    """Why vertical scaling changes nothing, or not all of the application; None where it does."""
    without = [
        name
        for name, service in application.services.items()
        if service.runs.image is not None and service.resources == Resources() and name not in study.resources
    ]
    if study.scaling != "vertical" or not without:
        return None
    if len(without) == len(application.services):
        return "vertical equals baseline: no service has limits that could be doubled"
    return f"vertical leaves {', '.join(without)} as they are: they have no limits that could be doubled"


def unequal_environments(studies: Sequence[Study], treatments: Sequence[Treatment]) -> Iterator[tuple[int, str]]:
    """Environments of which no treatment has the limits of any in the first one, each with its first treatment's
    place. ``studies``: of each treatment."""
    limits: dict[str, set[str]] = {}
    first: dict[str, int] = {}
    for place, (study, treatment) in enumerate(zip(studies, treatments, strict=True)):
        if (level := study.environment) is not None:
            resources = [(name, of.model_dump_json()) for name, of in sorted(treatment.resources.items())]
            cpus = study.vm.cpus if study.vm is not None else None
            limits.setdefault(level, set()).add(str((resources, study.scaling, cpus)))
            first.setdefault(level, place)
    for name, place in list(first.items())[1:]:
        baseline = next(iter(first))
        if not limits[baseline] & limits[name]:
            text = f"{baseline!r} and {name!r} have no limits in common; environments are compared on equal resources,"
            yield place, f"{text} scaling and vm.cpus"
