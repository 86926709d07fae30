"""The files of a run as a whole, as far as reports read them: the plan, the study, where the results come from.

Whatever is missing has a default, so that a run of any release can be opened; ``document`` is the file as it is.
"""

from __future__ import annotations

import copy
import functools
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from loadstone.model.records.base import NullIsEmpty, Record

_Item = TypeVar("_Item")
_Listed = Annotated[tuple[_Item, ...], Field(strict=False), NullIsEmpty()]
_Part = Annotated[_Item, BeforeValidator(lambda value: {} if value is None else value)]


class _Lenient(Record):
    """Nothing is converted: a number in quotes is malformed."""

    model_config = ConfigDict(strict=True)


class RunFile(_Lenient):
    """A file of a run."""

    document: dict[str, Any] = {}
    """All of it, also what is not read here."""

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, data: Any) -> Any:
        return {**data, "document": data} if isinstance(data, dict) else data


class SearchPart(_Lenient):
    """The search of a study."""

    slo: dict[str, Any] | None = None
    precision: Any = None
    guided: Any = None


class ClosedPart(_Lenient):
    """The closed loop of a study."""

    clients: Any = None
    requests: Any = None
    """Requests of each client in each iteration."""
    iterations: Any = None


class LoadPart(_Lenient):
    """The load of a study."""

    arrival: str | dict[str, Any] | None = None
    capacity: SearchPart | None = None
    closed: ClosedPart | None = None
    slo: dict[str, Any] | None = None
    rates: Any = None
    driver: str = "stone"
    timeout: Any = None
    seed: Any = None
    workers: Any = None

    @property
    def objective(self) -> dict[str, Any] | None:
        """The SLO, of the search where there is one."""
        return (self.capacity.slo if self.capacity is not None else None) or self.slo

    @property
    def levels(self) -> list[Any] | None:
        """The fixed rates, or the numbers of clients; None of a search."""
        found = self.rates or (self.closed.clients if self.closed is not None else None)
        return found if isinstance(found, list) else None

    @property
    def process(self) -> str:
        """The arrival process; empty where it is not known."""
        given = self.arrival or ""
        return str(given.get("process", "mixed")) if isinstance(given, dict) else given

    @property
    def generators(self) -> int:
        """The load workers that the study gives, 1 where it gives none; release 0.1.0 listed their addresses."""
        return max(1, len(self.workers)) if isinstance(self.workers, list) else self.workers or 1


class TrialPart(_Lenient):
    """The trials of a study."""

    repetitions: Any = 1
    order: str = "interleaved"
    duration: Any = None
    warmup: Any = "0s"
    requests: Any = None

    @property
    def fewest(self) -> int | None:
        """Repetitions; of a rule that ends them, the fewest."""
        given = self.repetitions.get("least") if isinstance(self.repetitions, dict) else self.repetitions
        return given if isinstance(given, int) else None


class ComparisonPart(_Lenient):
    """What a study compares with what. ``margin``: what it calls practically equal."""

    baseline: dict[str, Any] | None = None
    margin: Any = None


class ClusterPart(_Lenient):
    """The cluster of a study."""

    workers: Any = 1


class ReportPart(_Lenient):
    """What the report of a study shows beside its usual parts."""

    spans: _Listed[str] = ()


class StudyFile(RunFile):
    """A study, in ``plan.json`` as resolved or in ``study.yaml`` as given."""

    name: str | None = None
    description: str | None = None
    licence: str | None = None
    authors: _Listed[str] = ()
    reproduces: str | None = None
    deviations: _Listed[str] = ()
    application: Any = None
    workload: Any = None
    load: _Part[LoadPart] = LoadPart()
    trial: _Part[TrialPart] = TrialPart()
    report: _Part[ReportPart] = ReportPart()
    comparison: _Part[ComparisonPart] = ComparisonPart()
    cluster: _Part[ClusterPart] = ClusterPart()


class EntryPart(_Lenient):
    """Where requests enter."""

    service: str = ""


class ServicePart(_Lenient):
    """A service of the application, with those that it calls."""

    needs: _Listed[str] = ()
    calls: _Listed[str] = ()


class WorkloadPart(_Lenient):
    """A workload of the application. ``entry``: where it enters, ``SERVICE`` or ``SERVICE:PORT``."""

    entry: str | None = None


class ApplicationPart(_Lenient):
    """The application of a plan."""

    name: str | None = None
    entry: _Part[EntryPart] = EntryPart()
    services: _Part[dict[str, ServicePart]] = {}
    workloads: _Part[dict[str, WorkloadPart]] = {}

    def entry_of(self, workload: str | None) -> str:
        """The service where the requests of a workload enter."""
        given = self.workloads.get(workload or "")
        return given.entry.partition(":")[0] if given is not None and given.entry else self.entry.service


class PlannedTreatment(_Lenient):
    """A treatment of a plan. ``settings`` by name."""

    id: str = ""
    label: str = ""
    application: str | None = None
    """Its name; None in runs of earlier releases, which had one."""
    varied: _Part[dict[str, Any]] = {}
    """What factors set of the load, the trials and the cluster, by dotted path."""
    stand_ins: _Part[dict[str, str]] = {}
    """What ran in place of store software that is not installed, by the name of that software."""
    settings: _Part[dict[str, Any]] = {}

    @property
    def delays(self) -> dict[str, str]:
        """The delays that were put in, by service."""
        return self.settings.get("delays") or {}


class PlanFile(RunFile):
    """``plan.json``."""

    study: StudyFile | None = None
    application: _Part[ApplicationPart] = ApplicationPart()
    application_digest: Any = None
    source: Any = None
    treatments: _Listed[PlannedTreatment] = ()
    baseline: str | None = None
    """The id of the treatment that a requested comparison compares the others with."""
    overrides: _Listed[Any] = ()

    def treatment(self, treatment_id: str) -> PlannedTreatment | None:
        """The planned treatment of that id."""
        return next((treatment for treatment in self.treatments if treatment.id == treatment_id), None)

    def study_of(self, treatment_id: str) -> StudyFile | None:
        """The study of a treatment: with what factors set of its load, trials and cluster."""
        planned = self.treatment(treatment_id)
        if self.study is None or planned is None or not planned.varied:
            return self.study
        document = copy.deepcopy(self.study.document)
        for path, value in planned.varied.items():
            *above, last = path.split(".")
            functools.reduce(lambda part, key: part.setdefault(key, {}), above, document)[last] = value
        return StudyFile.model_validate(document)


class NodeFacts(_Lenient):
    """A node that the run was measured on."""

    name: str
    role: str | None = None
    cpus: _Listed[Any] = ()
    machine: _Part[dict[str, str]] = {}
    """Facts of a host: processor, kernel, firmware, microcode, network interfaces, disks."""


class Provenance(RunFile):
    """``provenance.json``."""

    loadstone: str | None = None
    time: str | None = None
    command: list[Any] | str | None = None
    host: _Part[dict[str, Any]] = {}
    software: _Part[dict[str, Any]] = {}
    nodes: _Listed[NodeFacts] = ()
    warnings: _Listed[Any] = ()
    tuning: _Part[dict[str, dict[str, Any]]] = {}


class PartsFile(RunFile):
    """``parts.json`` of the folder with the runs of a study's parts."""

    parts: _Listed[str]
    """Their names, in the study's order."""
    chosen: _Listed[str] = ()
    """Those that are to be run."""
    source: str = ""
    """The study file, as it was named on the command line."""
    overrides: _Listed[str] = ()
    scale: str | None = None


class OutcomeFile(RunFile):
    """``outcome.json``."""

    failures: _Listed[Any] = ()
