"""The other application that disturbs a treatment: read, and whether it can be deployed beside the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loadstone import plugins
from loadstone.applications.catalogue import LoadedApplication
from loadstone.model.application import Application
from loadstone.model.base import Finding, abridged, did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.interference import Neighbour
from loadstone.model.study import Study
from loadstone.orchestration.base import Orchestrator


def read(document: Document, study: Study, load: Callable[[str], LoadedApplication]) -> LoadedApplication | None:
    """None where a study has no such neighbour. Raises InputError with all that is wrong; ``load`` reads an
    application by its name or path."""
    wanted = study.interference
    if not isinstance(wanted, Neighbour):
        return None
    try:
        loaded = load(wanted.application)
    except InputError as error:
        if any(problem.line for problem in error.problems):  # the application's own file says where it is wrong
            raise
        raise InputError([document.problem(("interference", "application"), str(error))]) from None
    document.check((("interference", *path), text) for path, text in _findings(study, wanted, loaded.application))
    return loaded


def _findings(study: Study, wanted: Neighbour, application: Application) -> Iterator[Finding]:
    if application.url is not None:
        yield ("application",), f"{application.url} is deployed by someone else; name an application to deploy"
        return
    name = study.settings.orchestrator
    kind: type[Orchestrator] = plugins.find("orchestrators", name)
    if not kind.beside_others:
        able = [each for each in plugins.names("orchestrators") if plugins.find("orchestrators", each).beside_others]
        message = f"orchestrator {name!r} deploys no other application beside the measured one"
        yield ("application",), f"{message}; choose {', '.join(able[:-1])} or {able[-1]}"
    images = [name for name, service in application.services.items() if service.runs.image is not None]
    if images and not kind.runs_containers():
        message = f"orchestrator {name!r} cannot run images, which {application.name} uses ({abridged(images, 3)})"
        yield ("application",), message
    if wanted.workload is not None and wanted.workload not in application.workloads:
        known = list(application.workloads)
        yield (
            ("workload",),
            f"{application.name} has no workload {wanted.workload!r}" + did_you_mean(wanted.workload, known),
        )
    for service in wanted.resources:
        if service not in application.services:
            known = list(application.services)
            yield (
                ("resources", service),
                f"{application.name} has no service {service!r}" + did_you_mean(service, known),
            )
