"""A study: factors, load, objective and repetitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationError, field_validator

from loadstone.model import papers
from loadstone.model.application import Resources
from loadstone.model.base import Finding, Matches, Model, did_you_mean, plural, show
from loadstone.model.claim import Claim
from loadstone.model.cluster import Cluster
from loadstone.model.comparison import FEWEST_PAIRS, Comparison, Repeating
from loadstone.model.delays import Delays
from loadstone.model.environment import Environment, orchestrator_for
from loadstone.model.guest import Vm
from loadstone.model.interference import Disturbing
from loadstone.model.load import Load
from loadstone.model.messages import brief, message
from loadstone.model.observing import Metrics, Off, Traces, or_off
from loadstone.model.placement import Placement, Splits
from loadstone.model.proxy import NoProxy, Proxy, or_none
from loadstone.model.publishing import Author, Licence
from loadstone.model.report import Report
from loadstone.model.stacks import Stacks, names_alone
from loadstone.model.tasks import TasksByService
from loadstone.model.trial_settings import TrialSettings
from loadstone.model.tuning import Tuning
from loadstone.model.units import format_seconds
from loadstone.model.workload import Workload

MOST_COMBINATIONS = 1_000
"""The most levels: more are a typing error, or take too long to measure."""

Scaling = Literal["baseline", "vertical", "horizontal", "unlimited"]
Profile = Literal["default", "dsb-quirks", "paper"]
Name = Annotated[
    str, Matches(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", "letters, digits, '.', '_' and '-', no spaces, at most 64")
]
Count = Annotated[int, Field(ge=1, le=1000)]


def _form(levels: Any) -> str:
    splits = isinstance(levels, Splits) or (isinstance(levels, dict) and set(levels) & {"tiers", "services", "nodes"})
    return "splits" if splits else "levels"


Levels = Annotated[
    Annotated[list[Any], Field(min_length=1), Tag("levels")] | Annotated[Splits, Tag("splits")], Discriminator(_form)
]
"""The levels of a factor: a list, or what stands for one."""


def _workload_form(value: Any) -> str:
    return "file" if isinstance(value, str) else "workload"


WorkloadOrFile = Annotated[
    Annotated[str, Tag("file")] | Annotated[Workload, Tag("workload")], Discriminator(_workload_form)
]


class Settings(Model):
    """One level of every factor: what a treatment fixes."""

    orchestrator: str = "process"
    """What places replicas on nodes; ``process`` runs them as processes of their machines, limited by cgroups. Left
    out, it follows the environment: containers are run by ``compose``, on several workers by ``swarm``."""
    scaling: Scaling = "baseline"
    """``vertical`` is twice the CPU and memory, ``horizontal`` twice the replicas, ``unlimited`` no limits."""
    profile: Profile = "default"
    """``dsb-quirks`` restores known bugs of the original that change performance, ``paper`` a study's deployment."""
    documents: Literal["postgres", "mongodb"] = "postgres"
    """The software behind every document store."""
    environment: Environment | None = None
    """What lies under a replica; by default the orchestrator's own: ``bare`` of ``process``, ``container`` of the
    others."""
    vm: Vm | None = None
    """The virtual machines of ``vm`` and ``vm-container``: ``{cpus: 2, memory: 4GiB}``; by default like their
    hosts."""
    high_availability: Literal["on", "off"] = "off"
    """Three managers (``on``) or one (``off``)."""
    placement: Placement | None = None
    """Which nodes tiers and services may run on; by default any worker."""
    workload: str | None = None
    """One of the application's workloads, by default its default one; or the path of a wrk or wrk2 script
    (``scripts/mixed.lua``), relative to the study file."""
    dataset: str | None = None
    """One of the application's datasets, by default its default one; or the path of a file
    (``datasets/mine.mtx``), relative to the study file."""
    proxy: Annotated[Proxy | None, BeforeValidator(or_none, json_schema_input_type=Proxy | NoProxy | None)] = None
    """NGINX in front of the application: ``{workers: 4, connections: 1024}``; by default ``none``."""
    delays: Annotated[Delays | None, BeforeValidator(or_off, json_schema_input_type=Delays | Off | None)] = None
    """Added to each request of a service of ``stone``: ``{search: 5ms}``; by default ``off``."""
    tasks: Annotated[
        TasksByService | None, BeforeValidator(or_off, json_schema_input_type=TasksByService | Off | None)
    ] = None
    """Parameters of the tasks of services that do some: ``{payment: {linpack: 260, sleep: 50us}}``; the application's
    own by default, or with ``off``."""
    traces: Annotated[Traces | None, BeforeValidator(or_off, json_schema_input_type=Traces | Off | None)] = None
    """Spans of a share of the requests: ``{sample: 1%}``; by default ``off``."""
    metrics: Annotated[Metrics | None, BeforeValidator(or_off, json_schema_input_type=Metrics | Off | None)] = Metrics()
    """Counters of nodes and replicas: ``{period: 100ms}``, or ``off``; by default every second."""
    tuning: Annotated[Tuning | None, BeforeValidator(or_off, json_schema_input_type=Tuning | Off | None)] = None
    """Kernel settings of the hosts: ``{governor: performance, turbo: off}``; set before anything is started, and
    restored afterwards. Nothing is changed by default, or with ``off``."""
    interference: Annotated[
        Disturbing | None, BeforeValidator(or_off, json_schema_input_type=Disturbing | Off | None)
    ] = None
    """What disturbs the application while it is measured: ``{stressor: cpu, load: 50%, on: search}``, or another
    application under load, ``{application: shop, rate: 20}``; nothing by default, or with ``off``."""

    @field_validator("high_availability", mode="before")
    @classmethod
    def _on_off(cls, value: Any) -> Any:
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


SETTABLE = (*Settings.model_fields, "application", "cluster", "resources", "replicas", "stacks", "load", "trial")
"""What levels of factors may set: these, or what is below them."""


def is_bundle(level: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a level sets several settings: a mapping of a name, and of paths to values."""
    if not isinstance(level, dict) or "name" not in level or len(level) < 2:
        return False
    return all(str(path).split(".")[0] in SETTABLE for path in level if path != "name")


class Study(Settings):
    """One study file."""

    version: Literal[1]
    """The version of this file format."""
    name: Annotated[Name, Field(examples=["first-study"])]
    """The name of the study and of its results folder."""
    description: str = ""
    """The study's question, for its report."""
    authors: list[Author] = []
    """The authors of its results when they are published."""
    licence: Annotated[Licence | None, Field(examples=["CC-BY-4.0"])] = None
    """The licence of published results: an SPDX identifier or an address. Without a licence, others may
    not use them."""
    reproduces: Annotated[str | None, AfterValidator(papers.known), Field(examples=["vanderputten2024"])] = None
    """A published study: the report shows its numbers beside this study's own, and compares treatments by its method
    if that is implemented. Known are the files of ``studies/papers/published``."""
    application: Annotated[str, Field(examples=["hotel-reservation"])]
    """A built-in application's name, the path of an application or compose file, relative to the study file, or the
    address of a server that someone else deployed: ``http://host:port/path``."""
    workloads: dict[str, WorkloadOrFile] = {}
    """Workloads beside those of the application, by name: as in an application file, or the path of a file that holds
    one, relative to the study file. A study that has some and names none is loaded with the first."""
    cluster: Cluster = Cluster()
    """The nodes that the study needs."""
    factors: Annotated[
        dict[str, Levels], Field(examples=[{"scaling": ["baseline", "vertical"], "load.connections": [8, 64]}])
    ] = {}
    """Levels by factor. A factor is any setting, by its path (``load.connections``), or a name whose levels set several
    (``series: [{name: 400x60, load.rates: [400], trial.duration: 60s}]``). A treatment is one combination; all are
    run. All splits of the application over nodes: ``placement: {tiers: all-splits, nodes: 2}``."""
    except_: Annotated[list[dict[str, Any]], Field(alias="except")] = []
    """Combinations to leave out: each names levels by factor, and drops all treatments that have them."""
    resources: dict[str, Resources] = {}
    """Limits that replace those of the application, by service."""
    replicas: dict[str, Count] = {}
    """Numbers of replicas that replace those of the application, by service; ``scaling: horizontal`` doubles them."""
    stacks: Annotated[Stacks, BeforeValidator(names_alone, json_schema_input_type=Stacks | list[str])] = Stacks()
    """Observability stacks that run beside the application: ``[prometheus, grafana, jaeger]``,
    ``[elastic]``; by default none."""
    load: Annotated[Load, Field(examples=[{"rates": [100], "slo": {"p99": "200ms"}}])]
    """The offered load, and the objective."""
    trial: TrialSettings = TrialSettings()
    """Warm-up, window, repetitions, order."""
    report: Report | None = None
    """Spans whose single runs and distances the report draws; by default none, and all requests in a reproduction by
    best-fit runs."""
    claims: list[Claim] = []
    """What the study, or the paper that it reproduces, claims: the report says of each whether the run confirms it."""
    deviations: list[str] = []
    """In what it knowingly differs from the paper that it reproduces, for the report. What differs by scale, and what
    ``--set`` changed, the report finds itself."""
    parts: Annotated[
        list[dict[str, Any]], Field(examples=[[{"name": "scaling", "factors": {"scaling": ["baseline", "vertical"]}}]])
    ] = []
    """Several studies in one file: each has a ``name`` and the keys that are its own, which are merged over those of
    the file (null removes one; ``factors`` replace those of the file). Each is run alone with ``--part``; one run
    folder has all of them."""
    scale: dict[Literal["paper", "here"], dict[str, Any]] = {}
    """Keys that differ by scale, ``{here: {trial: {duration: 5s}}}``, of the file or of a part, merged last: ``paper``
    as published, ``here`` for one machine. ``--scale`` chooses; by default ``here`` where nodes come from this
    machine."""
    comparison: Comparison | None = None
    """Which treatment the others are compared with, ``{}`` for the first; at fixed loads it runs twice in a block."""

    @field_validator(*Settings.model_fields, mode="before")
    @classmethod
    def _one_level(cls, value: Any) -> Any:
        if isinstance(value, list):
            raise ValueError("one level is expected here; to compare several, write the list under 'factors'")
        return value

    def findings(self) -> Iterator[Finding]:
        """Contradictions in the file itself; what needs the application or adapters is checked by the plan."""
        for index, claim in enumerate(self.claims):
            found = [*claim.findings(), *claim.misspelt([*SETTABLE, *self.factors])]
            yield from ((("claims", index, *path), text) for path, text in found)
        for path, text in self.stacks.findings():
            yield ("stacks", *path), text
        for path, text in self.load.findings():
            yield ("load", *path), text
        for path, text in self.load.misfits(self.trial.duration):
            yield ("load", *path), text
        yield from self.trial.contradictions(self.load)
        for name, workload in self.workloads.items():
            if isinstance(workload, Workload):
                yield from ((("workloads", name, *path), text) for path, text in workload.findings())
        yield from self._wrong_factors()
        yield from self._wrong_exceptions()
        yield from self._wrong_repetitions()
        yield from self.wrong_baseline()
        if self.load.capacity is not None:
            latency = max(self.load.capacity.slo.limits.values()) / 1000
            if self.trial.duration < 2 * latency:
                text = f"{format_seconds(self.trial.duration)} is shorter than twice the SLO's latency"
                yield ("trial", "duration"), f"{text}, {format_seconds(latency)}; measure longer"

    def _wrong_factors(self) -> Iterator[Finding]:
        for name, levels in self.factors.items():
            varies_several = isinstance(levels, list) and all(map(is_bundle, levels))
            if name.split(".")[0] not in SETTABLE and not varies_several:
                yield ("factors", name), f"{name!r} is not a factor" + did_you_mean(name, [*SETTABLE])
                continue
            if name in Settings.model_fields and name in self.model_fields_set:
                yield (name,), f"{name!r} is a setting and a factor at once; keep one"
            if isinstance(levels, Splits):
                yield from ((("factors", name, *path), text) for path, text in levels.findings())
                if name != "placement":
                    yield ("factors", name), f"only placement has splits; write the levels of {name!r} as a list"
                continue
            for index, level in enumerate(levels):
                where = ("factors", name, index)
                if level in levels[:index]:
                    yield where, f"level {show(level)} is given twice"
                if name not in Settings.model_fields or is_bundle(level):
                    continue
                if wrong := _not_a_level(name, level):
                    yield where, wrong
        count = math.prod(len(levels) for levels in self.factors.values() if isinstance(levels, list))
        if count > MOST_COMBINATIONS:
            text = f"{count:,} combinations of levels are more than {MOST_COMBINATIONS:,}"
            yield ("factors",), f"{text}; vary fewer factors at once, or make several studies of this one"

    def _wrong_exceptions(self) -> Iterator[Finding]:
        for index, dropped in enumerate(self.except_):
            if not dropped:
                yield ("except", index), "names no factor, so it would drop everything; name the levels to drop"
            for name, level in dropped.items():
                where = ("except", index, name)
                if name not in self.factors:
                    yield where, f"{name!r} is not a factor of this study" + did_you_mean(name, list(self.factors))
                elif isinstance(self.factors[name], Splits):
                    continue  # only the application has their names
                elif not any(_is(other, level) for other in self.levels(name)):
                    known = ", ".join(map(_called, self.levels(name)))
                    yield where, f"{show(level)} is not a level of {name!r} in this study; it has: {known}"

    def _wrong_repetitions(self) -> Iterator[Finding]:
        where, trial = ("trial", "repetitions"), self.trial
        if isinstance(trial.repetitions, Repeating):
            yield from (((*where, *path), text) for path, text in trial.repetitions.findings())
            if self.load.capacity is not None:
                yield where, "a search goes on by itself until it is precise enough; give a number of searches"
            elif trial.order == "sequential":
                yield where, "whether enough is known is seen after whole blocks; remove order: sequential"
        if self.comparison is not None and self.load.capacity is None:
            if trial.least < FEWEST_PAIRS:
                text = f"{plural(trial.least, 'pair')} can show no difference, however large"
                yield where, f"{text}; a comparison needs at least {FEWEST_PAIRS}, and 10 see more"
            if trial.order == "sequential":
                yield ("trial", "order"), "a comparison needs blocks in which all treatments run; write interleaved"

    def wrong_baseline(self) -> Iterator[Finding]:
        """Levels of the comparison's baseline that no treatment has; nothing while splits are not written out."""
        named = self.comparison.baseline if self.comparison is not None else {}
        if any(isinstance(levels, Splits) for levels in self.factors.values()):
            return
        for name, level in named.items():
            where = ("comparison", "baseline", name)
            if name not in self.factors:
                yield where, f"{name!r} is not a factor of this study" + did_you_mean(name, list(self.factors))
            elif not any(_is(other, level) for other in self.levels(name)):
                known = ", ".join(_called(level) for level in self.levels(name))
                yield where, f"{show(level)} is not a level of {name!r} in this study; it has: {known}"
            elif self._baseline() is None:
                yield where, "no treatment has these levels, as 'except' drops it; choose another"

    def levels(self, factor: str) -> list[Any]:
        """The levels of a factor as the file has them; splits must have been written out."""
        levels = self.factors[factor]
        assert isinstance(levels, list), f"{factor}: only a plan knows which levels there are"
        return levels

    @property
    def names_environment(self) -> bool:
        """Whether it says what replicas run in, or on what; else they may run in what is there."""
        return "environment" in self.model_fields_set or bool(self.cluster.machine)

    @property
    def settings(self) -> Settings:
        """What one treatment fixes; left out, the orchestrator follows the environment."""
        found = Settings.model_construct(**{name: getattr(self, name) for name in Settings.model_fields})
        if "orchestrator" in self.model_fields_set:
            return found
        return found.model_copy(update={"orchestrator": orchestrator_for(self.environment, self.cluster.workers)})

    def combinations(self) -> list[dict[str, int]]:
        """Each treatment's levels, by factor the index of one: all combinations but those of ``except``, in order."""
        chosen = itertools.product(*(range(len(self.levels(factor))) for factor in self.factors))
        found = [dict(zip(self.factors, levels, strict=True)) for levels in chosen]
        return [levels for levels in found if not any(self._has(levels, dropped) for dropped in self.except_)]

    def baseline(self) -> int:
        """Which of ``combinations`` the others are compared with."""
        return self._baseline() or 0

    def _baseline(self) -> int | None:
        named = self.comparison.baseline if self.comparison is not None else {}
        return next((i for i, levels in enumerate(self.combinations()) if self._has(levels, named)), None)

    def _has(self, chosen: dict[str, int], named: dict[str, Any]) -> bool:
        return all(name in chosen and _is(self.levels(name)[chosen[name]], level) for name, level in named.items())


def _is(level: Any, named: Any) -> bool:
    """Whether a level is the one that is named: as it is written, or by the name that it has."""
    return bool(level == named or (isinstance(level, dict | list) and named is not None and brief(level) == str(named)))


def _called(level: Any) -> str:
    return brief(level) if isinstance(level, dict) and "name" in level else show(level)


def _not_a_level(factor: str, level: Any) -> str | None:
    """Why ``level`` cannot be one of ``factor``; None where it can."""
    try:
        # As a file's, so that a number without its unit is refused here too.
        Settings.model_validate({factor: level}, strict=True, context={"file": None})
    except ValidationError as error:
        return f"not a level of {factor!r}: " + message(error.errors()[0], Settings.model_json_schema(by_alias=True))
    return None
