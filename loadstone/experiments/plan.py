"""From a study file to treatments: everything that can be wrong is found before anything is started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.model.application import Application
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Settings, Study
from loadstone.model.trial import Treatment
from loadstone.model.workload import Workload


@dataclass(frozen=True)
class Plan:
    """A study with its application found and its treatments resolved."""

    study: Study
    application: Application
    application_digest: str
    treatments: tuple[Treatment, ...]

    def workload(self, treatment: Treatment) -> Workload:
        """The workload that a treatment is loaded with."""
        return self.application.workloads[treatment.settings.workload or self.application.default_workload]

    def as_data(self) -> dict[str, Any]:
        """``plan.json``."""
        return {
            "study": self.study.model_dump(mode="json", by_alias=True),
            "application": self.application.model_dump(mode="json", by_alias=True, exclude_none=True),
            "application_digest": self.application_digest,
            "treatments": [
                {"id": t.id, "label": t.label, **t.model_dump(mode="json", include={"settings", "resources"})}
                for t in self.treatments
            ],
        }


def make_plan(document: Document) -> Plan:
    """Resolve a study document; raises InputError naming file and line of all that is wrong."""
    study = document.parse(Study)
    try:
        loaded = catalogue.load(_beside(document, study.application))
    except InputError as error:
        if any(problem.line for problem in error.problems):  # the application's own file says where it is wrong
            raise
        raise InputError([document.problem(("application",), str(error))]) from None
    document.check(_findings(study, loaded.application))
    treatments = tuple(
        Treatment(
            application=loaded.application.name,
            application_digest=loaded.digest,
            settings=settings.model_copy(update={"workload": settings.workload or loaded.application.default_workload}),
            factors=tuple(study.factors),
            resources=study.resources,
        )
        for settings in study.treatments()
    )
    if not treatments:
        raise InputError([document.problem(("except",), "drops every treatment; nothing is left to run")])
    return Plan(study, loaded.application, loaded.digest, treatments)


def read_plan(file: Path | str, overrides: list[str] | None = None) -> tuple[Document, Plan]:
    """Read a study file, apply ``--set`` overrides, and resolve it."""
    document = Document.read(file)
    for assignment in overrides or []:
        document.override(assignment)
    return document, make_plan(document)


def _beside(document: Document, application: str) -> str:
    """A path in a study file is relative to that file; a built-in name stays a name."""
    if "/" not in application and not application.endswith((".yaml", ".yml")):
        return application
    return str((Path(document.file).parent / application).resolve())


def _findings(study: Study, application: Application) -> Iterator[Finding]:
    services = list(application.services)
    for name in study.resources:
        if name not in application.services:
            message = f"{application.name} has no service {name!r}" + did_you_mean(name, services)
            yield ("resources", name), message
    for where, name in _levels(study, "workload"):
        if name is not None and name not in application.workloads:
            message = f"{application.name} has no workload {name!r}"
            yield where, message + did_you_mean(str(name), list(application.workloads))
    infrastructures = plugins.names("infrastructure")
    if study.cluster.infrastructure not in infrastructures:
        message = f"no infrastructure {study.cluster.infrastructure!r}"
        yield ("cluster", "infrastructure"), message + did_you_mean(study.cluster.infrastructure, infrastructures)
    yield from _not_expressible(study)


def _not_expressible(study: Study) -> Iterator[Finding]:
    known = plugins.names("orchestrators")
    for where, orchestrator in _levels(study, "orchestrator"):
        if orchestrator not in known:
            yield where, f"no orchestrator {orchestrator!r}" + did_you_mean(str(orchestrator), known)
            continue
        expresses: dict[str, frozenset[str]] = plugins.find("orchestrators", orchestrator).expresses
        for factor, levels in expresses.items():
            for place, level in _levels(study, factor):
                if level not in levels:
                    can = ", ".join(sorted(levels))
                    yield (
                        place,
                        f"{factor} {level!r} cannot be expressed by orchestrator {orchestrator!r}; it can: {can}",
                    )


def _levels(study: Study, factor: str) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Each level of a factor with the place in the file that gives it."""
    if factor not in study.factors:
        yield (factor,), getattr(study, factor)
        return
    for index, level in enumerate(study.factors[factor]):
        yield ("factors", factor, index), getattr(Settings.model_validate({factor: level}), factor)
