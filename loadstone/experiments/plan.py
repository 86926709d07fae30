"""From a study file to treatments: everything that can be wrong is found before anything is started."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.applications.catalogue import LoadedApplication
from loadstone.experiments import client_machines, expressible, external, load_files, misfits, neighbours, splitting
from loadstone.experiments.claim_levels import refuse_untestable
from loadstone.experiments.scales import scale_of
from loadstone.infrastructure.base import Infrastructure
from loadstone.model import address, factors, parts
from loadstone.model.application import Application
from loadstone.model.dataset import Keys
from loadstone.model.document import Document
from loadstone.model.environment import Environment, in_given_guest
from loadstone.model.errors import InputError, Problem
from loadstone.model.stacks import Stacks
from loadstone.model.study import Settings, Study
from loadstone.model.trial import Treatment
from loadstone.model.workload import Workload
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.external import External, kind_of
from loadstone.workloads.members import clients_needed
from loadstone.workloads.waiting import Waiting, waiting

_BESIDE = ("application", "cluster", "load", "stacks", "trial")
"""What factors may set beside what a treatment has fields for."""


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
    replaced: tuple[str, ...]
    """Store software that is not installed here, and in whose place its stand-in runs."""
    beside: bool = False
    """Whether it is deployed beside another application, as what disturbs that."""


@dataclass(frozen=True)
class Own:
    """What a treatment is run from: its own study, in which nothing is varied, and what that names."""

    study: Study
    application: Application
    script: Path | None = None
    """The file of its workload, if that is a Lua script."""
    data: Path | None = None
    """The file of its dataset, if that is one."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the other files that the load is made from, by path."""
    neighbour: LoadedApplication | None = None
    """Another application that disturbs it."""

    @property
    def replaced(self) -> tuple[str, ...]:
        """Store software that is not installed here; official images are pulled all the same."""
        kind = kind_of(self.study.settings.orchestrator)
        pulled = self.study.cluster.images == "official" and kind.runs_containers()
        return () if pulled else tuple(catalogue.replaced(self.application))


@dataclass(frozen=True)
class Plan:
    """A study with its application found, its files read and its treatments resolved."""

    study: Study
    """With its factors; what they vary is here as in the first treatment."""
    application: Application
    """The application of the first treatment."""
    application_digest: str
    treatments: tuple[Treatment, ...]
    own: tuple[Own, ...]
    """What each treatment is run from."""
    notes: tuple[Problem, ...] = ()
    """What of an imported application is not carried, what is guessed, and what cannot be repeated."""

    def of(self, treatment: Treatment) -> Own:
        """What a treatment is run from."""
        return self._own[treatment.label]

    @functools.cached_property
    def _own(self) -> dict[str, Own]:
        return {treatment.label: own for treatment, own in zip(self.treatments, self.own, strict=True)}

    @property
    def files(self) -> dict[str, str]:
        """Digests of the files that loads are made from, by path."""
        return {path: digest for own in self.own for path, digest in own.files.items()}

    @property
    def baseline(self) -> Treatment:
        """What the others are compared with."""
        return self.treatments[self.study.baseline()]

    @property
    def load_workers(self) -> int | None:
        """How many generate the load where there are so many client machines; None where all of those do."""
        wanted = [own.study.load.workers or clients_needed(own.study.load) for own in self.own]
        return None if None in wanted else max(number or 1 for number in wanted)

    @property
    def waiting(self) -> Waiting:
        """What the way of waiting for the next send is chosen by, in all trials."""
        return waiting(own.study.load for own in self.own)

    def deployable(self, treatment: Treatment) -> Deployable:
        """What a treatment is deployed from."""
        own = self.of(treatment)
        return Deployable(
            treatment=treatment,
            application=own.application,
            stacks=own.study.stacks,
            packaged=own.study.cluster.images == "packaged",
            environment=treatment.settings.environment if own.study.names_environment else None,
            workload=self.workload(treatment),
            dataset=self.dataset(treatment),
            replaced=own.replaced,
        )

    def workload(self, treatment: Treatment) -> Workload | Path:
        """The workload that a treatment is loaded with: a mix, or the file of a script."""
        own = self.of(treatment)
        return own.script or own.application.workloads[treatment.settings.workload or own.application.default_workload]

    def dataset(self, treatment: Treatment) -> Keys:
        """The dataset of a treatment, as in the plan of ``stone seed``; nothing where the application has none."""
        name, own = treatment.settings.dataset, self.of(treatment)
        if name is None:
            return {}
        return {"file": str(own.data)} if own.data is not None else own.application.datasets[name].keys

    def as_data(self) -> dict[str, Any]:
        """``plan.json``."""
        applications = {
            treatment.application_digest: own.application
            for treatment, own in zip(self.treatments, self.own, strict=True)
        }
        beside = {own.neighbour.application.name: own.neighbour.application for own in self.own if own.neighbour}
        return {
            "study": self.study.model_dump(mode="json", by_alias=True),
            "application": _dumped(self.application),
            "application_digest": self.application_digest,
            **({"applications": _all_dumped(applications)} if len(applications) > 1 else {}),
            **({"neighbours": _all_dumped(beside)} if beside else {}),
            "files": self.files,
            **({"baseline": self.baseline.id} if self.study.comparison is not None else {}),
            **({"notes": [str(note) for note in self.notes]} if self.notes else {}),
            "load_workers": self.load_workers,
            "treatments": [self._treatment_data(treatment) for treatment in self.treatments],
        }

    def _treatment_data(self, treatment: Treatment) -> dict[str, Any]:
        stand_ins = {name: catalogue.software().stand_in(name) for name in self.of(treatment).replaced}
        return {
            "id": treatment.id,
            "label": treatment.label,
            **treatment.model_dump(mode="json"),
            **({"stand_ins": stand_ins} if stand_ins else {}),
        }


def _dumped(application: Application) -> dict[str, Any]:
    return application.model_dump(mode="json", by_alias=True, exclude_none=True)


def _all_dumped(applications: Mapping[str, Application]) -> dict[str, Any]:
    return {key: _dumped(each) for key, each in applications.items()}


Loader = Callable[[str], LoadedApplication]
"""Reads an application by the name or the path that a study gives."""


def make_plan(document: Document, load: Loader | None = None) -> Plan:
    """Resolve a study document; raises InputError naming file and line of all that is wrong."""
    folder, load = Path(document.file).parent, load or _loader(document)
    study = factors.common(document)
    study = splitting.written_out(document, study, _loaded(document, study, load).application)
    document.check(study.wrong_baseline())
    varied = factors.resolve(document, study)
    if not varied:
        raise InputError([document.problem(("except",), "drops every treatment: no trial is left to run")])
    settings = [each.study.settings for each in varied]
    beside = sorted({".".join(path.split(".")[:2]) for each in varied for path in each.settings})
    problems: list[Problem] = []
    notes: list[Problem] = []
    made: list[tuple[Treatment, Own]] = []
    for each in varied:
        try:
            loaded = _loaded(each.document, each.study, load)
            each.document.check(
                [
                    *misfits.findings(each.study, loaded.application, settings),
                    *expressible.findings(each.study, loaded.application, settings),
                ]
            )
            own = replace(
                _own(each, loaded.application, folder), neighbour=neighbours.read(each.document, each.study, load)
            )
        except InputError as error:
            problems += error.problems or [Problem(document.file, 0, "", str(error))]
            continue
        made.append((_treatment(each, own, loaded, beside), own))
        notes += loaded.notes
        for place, name in _replaced(own):
            stand_in = catalogue.software().stand_in(name)
            text = f"{name} is not installed here, so {stand_in} runs in its place: what is measured is not {name}'s"
            notes.append(each.document.problem(place, text))
        if unscaled := misfits.unscaled(own.study, own.application):
            notes.append(each.document.problem(("scaling",), unscaled))
        if too_few := client_machines.too_few(own.study, own.application.url):
            notes.append(each.document.problem(("load", "rates"), too_few))
        if own.application.url is not None:
            notes.append(each.document.problem(("application",), external.warning(own.application.url)))
    factors.refuse([*problems, *_kinds(varied)])
    treatments, owns = zip(*made, strict=True)
    factors.refuse(factors.indistinct(document, study, treatments))
    unequal = misfits.unequal_environments([each.study for each in varied], treatments)
    factors.refuse([varied[place].document.problem(("environment",), text) for place, text in unequal])
    first = _loaded(varied[0].document, varied[0].study, load)
    of_first = {"load": owns[0].study.load, "cluster": owns[0].study.cluster, "workloads": {}}
    study = study.model_copy(update=of_first)
    return Plan(study, first.application, first.digest, treatments, owns, tuple(dict.fromkeys(notes)))


def _loader(document: Document) -> Loader:
    """Reads each application once."""
    folder = Path(document.file).parent
    return functools.cache(lambda application: catalogue.load(_beside(folder, application)))


def _loaded(document: Document, study: Study, load: Loader) -> LoadedApplication:
    """The study's application, with the study's own workloads; the first of them is the default."""
    try:
        loaded = load(study.application)
    except InputError as error:
        if any(problem.line for problem in error.problems):  # the application's own file says where it is wrong
            raise
        raise InputError([document.problem(("application",), str(error))]) from None
    own = load_files.workloads(document, study, loaded.application, Path(document.file).parent)
    if not own:
        return loaded
    update = {"workloads": {**loaded.application.workloads, **own}, "default_workload": next(iter(own))}
    return replace(loaded, application=loaded.application.model_copy(update=update))


def _own(varied: factors.Varied, application: Application, folder: Path) -> Own:
    document, study = varied.document, varied.study
    load, files = load_files.resolve(document, study.load, folder)
    if application.url is not None:
        load = external.over_tls(load, application.url)
    cluster = client_machines.enough(study.cluster, load)
    services = dict(application.services)
    for name, count in study.replicas.items():
        services[name] = services[name].model_copy(update={"replicas": count})
    return Own(
        study=study.model_copy(update={"load": load, "cluster": cluster, "workloads": {}}),
        application=application.model_copy(update={"services": services}),
        script=load_files.script(document, study, folder),
        data=load_files.data(document, study, folder),
        files=files,
    )


def _replaced(own: Own) -> Iterator[tuple[tuple[str, ...], str]]:
    """Store software whose stand-in runs, each with the key of its application."""
    yield from ((("application",), name) for name in own.replaced)
    if own.neighbour is not None:
        yield from ((("interference", "application"), name) for name in catalogue.replaced(own.neighbour.application))


def _treatment(varied: factors.Varied, own: Own, loaded: LoadedApplication, changed: Sequence[str]) -> Treatment:
    """``changed``: what any treatment's levels set, as sections of the study or keys in them: ``load.connections``."""
    settings = _whole(varied.study, own.application)
    dumped = own.study.model_dump(mode="json", by_alias=True)
    beside = {path: _at(dumped, path) for path in changed if path.split(".")[0] in _BESIDE}
    return Treatment(
        application=own.application.name,
        application_digest=loaded.digest,
        settings=settings,
        levels={name: factors.called(name, level, settings) for name, level in varied.levels.items()},
        resources=own.study.resources,
        replicas=own.study.replicas or None,
        script_digest=_script_digest(varied.study, own, settings.workload),
        dataset_digest=load_files.digest(own.data) if own.data is not None else None,
        neighbour_digest=own.neighbour.digest if own.neighbour is not None else None,
        varied=beside or None,
    )


def _script_digest(study: Study, own: Own, workload: str | None) -> str | None:
    """The digest of a Lua script, or of a workload that the study brings."""
    if own.script is not None:
        return load_files.digest(own.script)
    return load_files.workload_digest(own.application, workload) if workload in study.workloads else None


def _at(data: Any, path: str) -> Any:
    for key in path.split("."):
        data = data[key]
    return data


def _kinds(varied: Sequence[factors.Varied]) -> Iterator[Problem]:
    """Rates, searches and closed loops have different trials and tables: one run has one of them."""
    first, *others = varied
    for each in others:
        if each.study.load.kind != first.study.load.kind:
            text = (
                f"{each.study.load.kind!r} and {first.study.load.kind!r} in one study; make two parts, or two studies"
            )
            yield each.document.problem(("load", each.study.load.kind), text)


def _whole(study: Study, application: Application) -> Settings:
    """With what was left out: what is the application's or the orchestrator's own, and what managers make of it."""
    settings = study.settings.model_copy(update={"workload": study.workload or application.default_workload})
    if application.url is not None:
        return settings.model_copy(update={"orchestrator": External.name})
    managers, machine = study.cluster.managers, study.cluster.machine
    orchestrator: type[Orchestrator] = plugins.find("orchestrators", settings.orchestrator)
    environment = settings.environment or orchestrator.environments[0]
    infrastructure: type[Infrastructure] = plugins.find("infrastructure", study.cluster.infrastructure)
    if machine == "vm" and environment not in infrastructure.makes:
        environment = in_given_guest(environment)
    traces = settings.traces
    if traces is not None and traces.receivers is None:
        needed = traces.receivers_needed(study.load.highest_rate, len(application.services))
        traces = traces.model_copy(update={"receivers": needed})
    return settings.model_copy(
        update={
            "dataset": settings.dataset or application.default_dataset,
            "environment": environment,
            "traces": traces,
            "high_availability": "on" if managers is not None and managers >= 3 else settings.high_availability,
        }
    )


def read_plans(
    document: Document, overrides: Sequence[str] = (), only: Sequence[str] = (), scale: str | None = None
) -> dict[str, Plan]:
    """The plan of each part by its name, of those in ``only`` if given; ``{"": plan}`` of a study without parts.

    ``overrides`` are those of ``--set``, applied last. Raises InputError with what is wrong in any of them.
    """
    refuse_untestable(document)
    for assignment in overrides:  # also now: the infrastructure may decide the scale
        document.override(assignment)
    found, problems, load = {}, [], _loader(document)
    for name, own in parts.documents(document, scale_of(document, scale), only).items():
        for assignment in overrides:
            own.override(assignment)
        try:
            found[name] = make_plan(own, load)
        except InputError as error:
            if not error.problems:
                raise
            problems += error.problems
    factors.refuse(problems)
    return found


def one_plan(
    document: Document, overrides: Sequence[str] = (), part: str | None = None, scale: str | None = None
) -> Plan:
    """The plan of a study, or of one part. Raises InputError where there are several and none is named."""
    plans = read_plans(document, overrides, [part] if part else [], scale)
    if len(plans) > 1:
        raise InputError(f"{document.file} has parts ({', '.join(plans)}); choose one with --part")
    (plan,) = plans.values()
    return plan


def _beside(folder: Path, application: str) -> str:
    """A path in a study file is relative to that file; a built-in name stays a name."""
    if address.is_url(application):
        return application
    if "/" not in application and not application.endswith((".yaml", ".yml")):
        return application
    return str((folder / application).resolve())
