"""From a study file to treatments: everything that can be wrong is found before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.experiments import expressible, load_files, splitting
from loadstone.infrastructure.base import Infrastructure
from loadstone.model import proxy
from loadstone.model.application import Application, Resources
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.dataset import Keys, is_path
from loadstone.model.document import Document
from loadstone.model.environment import Environment, in_given_guest
from loadstone.model.errors import InputError, Problem
from loadstone.model.load import SCRIPT
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings, Study
from loadstone.model.trial import Treatment
from loadstone.model.workload import Workload
from loadstone.orchestration.base import Orchestrator


@dataclass(frozen=True)
class Deployable:
    """All that the deployment of one treatment is made from."""

    treatment: Treatment
    application: Application
    stacks: Stacks
    packaged: bool
    """Whether stores run from images of the distribution's packages, else from the official ones."""
    environment: Environment | None
    """What its replicas are to run in; None where they may run in what is there."""
    workload: Workload | Path
    """What it is loaded with: a mix, or the file of a script."""
    dataset: Keys
    """As in the plan of ``stone seed``; nothing where the application has none."""


@dataclass(frozen=True)
class Plan:
    """A study with its application found, its files read and its treatments resolved."""

    study: Study
    application: Application
    application_digest: str
    treatments: tuple[Treatment, ...]
    scripts: Mapping[str, Path] = field(default_factory=dict)
    """The files of Lua workloads, by the name that the study gives them."""
    datasets: Mapping[str, Path] = field(default_factory=dict)
    """The files that are datasets, by the name that the study gives them."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the other files that the load is made from, by path."""
    notes: tuple[Problem, ...] = ()
    """What of an imported application is not carried, what is guessed, and what cannot be repeated."""

    @property
    def requests_environment(self) -> bool:
        """Whether the study says what its replicas run in, or on what; else they may run in what is there."""
        return "environment" in {*self.study.model_fields_set, *self.study.factors} or bool(self.study.cluster.machine)

    @property
    def baseline(self) -> Treatment:
        """What the others are compared with."""
        return self.treatments[self.study.baseline()]

    def deployable(self, treatment: Treatment) -> Deployable:
        """What a treatment is deployed from."""
        return Deployable(
            treatment=treatment,
            application=self.application,
            stacks=self.study.stacks,
            packaged=self.study.cluster.images == "packaged",
            environment=treatment.settings.environment if self.requests_environment else None,
            workload=self.workload(treatment),
            dataset=self.dataset(treatment),
        )

    def workload(self, treatment: Treatment) -> Workload | Path:
        """The workload that a treatment is loaded with: a mix, or the file of a script."""
        name = treatment.settings.workload or self.application.default_workload
        return self.scripts[name] if name in self.scripts else self.application.workloads[name]

    def dataset(self, treatment: Treatment) -> Keys:
        """The dataset of a treatment, as in the plan of ``stone seed``; nothing where the application has none."""
        name = treatment.settings.dataset
        if name is None:
            return {}
        return {"file": str(self.datasets[name])} if name in self.datasets else self.application.datasets[name].keys

    def as_data(self) -> dict[str, Any]:
        """``plan.json``."""
        return {
            "study": self.study.model_dump(mode="json", by_alias=True),
            "application": self.application.model_dump(mode="json", by_alias=True, exclude_none=True),
            "application_digest": self.application_digest,
            "files": dict(self.files),
            **({"baseline": self.baseline.id} if self.study.comparison is not None else {}),
            **({"notes": [str(note) for note in self.notes]} if self.notes else {}),
            "treatments": [
                {
                    "id": t.id,
                    "label": t.label,
                    **t.model_dump(mode="json", include={"settings", "resources", "script_digest", "dataset_digest"}),
                }
                for t in self.treatments
            ],
        }


def make_plan(document: Document) -> Plan:
    """Resolve a study document; raises InputError naming file and line of all that is wrong."""
    study = document.parse(Study)
    folder = Path(document.file).parent
    try:
        loaded = catalogue.load(_beside(folder, study.application))
    except InputError as error:
        if any(problem.line for problem in error.problems):  # the application's own file says where it is wrong
            raise
        raise InputError([document.problem(("application",), str(error))]) from None
    study = splitting.written_out(document, study, loaded.application)
    document.check(study.wrong_baseline())
    document.check([*_findings(study, loaded.application), *expressible.findings(study, loaded.application)])
    load, files = load_files.resolve(document, study.load, folder)
    study = study.model_copy(update={"load": load})
    scripts = load_files.scripts(document, study, folder)
    datasets = load_files.datasets(document, study, folder)
    treatments = tuple(
        Treatment(
            application=loaded.application.name,
            application_digest=loaded.digest,
            settings=_whole(settings, study, loaded.application),
            factors=tuple(study.factors),
            resources=study.resources,
            script_digest=_digest(scripts, settings.workload),
            dataset_digest=_digest(datasets, settings.dataset),
        )
        for settings in study.treatments()
    )
    if not treatments:
        raise InputError([document.problem(("except",), "drops every treatment: no trial is left to run")])
    notes = (*loaded.notes, *_equal_to_baseline(document, study, loaded.application))
    return Plan(study, loaded.application, loaded.digest, treatments, scripts, datasets, files, notes)


def _equal_to_baseline(document: Document, study: Study, application: Application) -> Iterator[Problem]:
    """Vertical scaling of what has no limits changes nothing."""
    without = [
        name
        for name, service in application.services.items()
        if service.runs.image is not None and service.resources == Resources() and name not in study.resources
    ]
    for where, level in expressible.levels(study, "scaling"):
        if level == "vertical" and len(without) == len(application.services):
            yield document.problem(where, "vertical equals baseline: no service has limits that could be doubled")
        elif level == "vertical" and without:
            text = f"vertical leaves {', '.join(without)} as they are: they have no limits that could be doubled"
            yield document.problem(where, text)


def _digest(files: Mapping[str, Path], name: str | None) -> str | None:
    return load_files.digest(files[name]) if name is not None and name in files else None


def _whole(settings: Settings, study: Study, application: Application) -> Settings:
    """With what was left out: what is the application's or the orchestrator's own, and what managers make of it."""
    managers, machine = study.cluster.managers, study.cluster.machine
    orchestrator: type[Orchestrator] = plugins.find("orchestrators", settings.orchestrator)
    environment = settings.environment or orchestrator.environments[0]
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", study.cluster.infrastructure)
    if machine == "vm" and environment not in infrastructure.makes:
        environment = in_given_guest(environment)
    return settings.model_copy(
        update={
            "workload": settings.workload or application.default_workload,
            "dataset": settings.dataset or application.default_dataset,
            "environment": environment,
            "high_availability": "on" if managers is not None and managers >= 3 else settings.high_availability,
        }
    )


def read_plan(file: Path | str, overrides: list[str] | None = None) -> tuple[Document, Plan]:
    """Read a study file, apply ``--set`` overrides, and resolve it."""
    document = Document.read(file)
    for assignment in overrides or []:
        document.override(assignment)
    return document, make_plan(document)


def _beside(folder: Path, application: str) -> str:
    """A path in a study file is relative to that file; a built-in name stays a name."""
    if "/" not in application and not application.endswith((".yaml", ".yml")):
        return application
    return str((folder / application).resolve())


def _wrong_tasks(study: Study, application: Application) -> Iterator[Finding]:
    """Parameters of tasks that a service does not do."""
    able = [name for name, service in application.services.items() if service.tasks.given()]
    for where, tasks in expressible.levels(study, "tasks"):
        for name, given in (tasks or {}).items():
            if name not in able:
                message = f"{application.name} has no service {name!r} with tasks"
                yield (*where, name), message + did_you_mean(name, able)
                continue
            known = application.services[name].tasks.given()
            for key in given.given():
                if key not in known:
                    yield (
                        (*where, name, key),
                        f"{name} has no task with parameter {key!r}" + did_you_mean(key, list(known)),
                    )


def _wrong_interference(study: Study, services: list[str]) -> Iterator[Finding]:
    """Stressors on what is neither a service nor a worker; names of an infrastructure's own are seen at preflight."""
    infrastructure = study.cluster.infrastructure
    named = infrastructure in plugins.names("infrastructure")
    if not named or not plugins.find("infrastructure", infrastructure).names_workers:
        return
    places = [*services, *(f"worker-{number + 1}" for number in range(study.cluster.workers))]
    for where, wanted in expressible.levels(study, "interference"):
        if wanted is not None and wanted.on is not None and wanted.on not in places:
            yield (*where, "on"), f"no service or worker {wanted.on!r}" + did_you_mean(wanted.on, places)


def _findings(study: Study, application: Application) -> Iterator[Finding]:
    proxied = [where for where, level in expressible.levels(study, "proxy") if level is not None]
    services = [*application.services, *([proxy.SERVICE] if proxied else []), *study.stacks.given()]
    yield from ((("stacks", *path), text) for path, text in study.stacks.clashes(application.services))
    for where in proxied:
        if proxy.SERVICE in application.services:
            yield where, f"{application.name} has a service {proxy.SERVICE!r} of its own; remove it"
    limited = [*services, *study.stacks.services()]
    for name in study.resources:
        if name not in limited:
            message = f"{application.name} has no service {name!r}" + did_you_mean(name, limited)
            yield ("resources", name), message
    for where, placement in expressible.levels(study, "placement"):
        for name in placement.services if placement is not None else ():
            if name not in services:
                message = f"{application.name} has no service {name!r}" + did_you_mean(name, services)
                yield (*where, "services", name), message
    for where, delays in expressible.levels(study, "delays"):
        for name in delays if delays is not None else ():
            if name not in application.services or application.services[name].runs.stone is None:
                ours = [name for name, service in application.services.items() if service.runs.stone is not None]
                message = f"{application.name} has no service {name!r} that supports delays"
                yield (*where, name), message + did_you_mean(name, ours)
    yield from _wrong_tasks(study, application)
    yield from _wrong_interference(study, services)
    named = list(expressible.levels(study, "workload"))
    for where, name in named:
        if name is not None and name not in application.workloads and not name.endswith(SCRIPT):
            message = f"{application.name} has no workload {name!r}"
            yield where, message + did_you_mean(str(name), list(application.workloads))
    for where, name in expressible.levels(study, "dataset"):
        if name is not None and not application.datasets:
            yield where, f"{application.name} has no datasets; remove it"
        elif name is not None and name not in application.datasets and not is_path(name):
            yield where, f"{application.name} has no dataset {name!r}" + did_you_mean(name, list(application.datasets))
    if study.load.script is not None and not any(str(name).endswith(SCRIPT) for _, name in named):
        yield ("load", "script"), "no workload of this study is a Lua script; remove it, or write workload: mine.lua"
