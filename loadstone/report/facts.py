"""Facts about a study, its deployments and its provenance, for the page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.analysis.evidence import AuditedLimit
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.run_files import StudyFile
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import format, sentences
from loadstone.report.content import Content

Limit = AuditRow | AuditedLimit
"""A limit of a replica, wanted and in force."""


@dataclass(frozen=True)
class Replicas:
    """What an audit read back: ``on`` which node, and the limits by name, by replica; ``what`` are all names."""

    what: list[str]
    on: dict[str, str]
    limits: dict[str, dict[str, Limit]]


@dataclass(frozen=True)
class DeployedTreatment:
    """The replicas of a treatment's last audit, each with the limits that the kernel had in force."""

    treatment: str
    trial: str
    replicas: Replicas


def deployments(content: Content) -> list[DeployedTreatment]:
    """By treatment."""
    found = []
    for treatment in content.treatments:
        rows = [row for row in content.evidence.audit if row.treatment == treatment.label]
        if rows:
            last = rows[-1].trial_id
            audited = replicas([row for row in rows if row.trial_id == last])
            found.append(DeployedTreatment(treatment.label, last, audited))
    return found


def replicas(audit: Sequence[Limit]) -> Replicas:
    """By replica what an audit read back."""
    found = Replicas(list(dict.fromkeys(row.what for row in audit)), {}, {})
    for row in audit:
        found.on[row.replica] = row.node
        found.limits.setdefault(row.replica, {})[row.what] = row
    return found


def _window(study: StudyFile) -> str:
    """``30s after 5s of warm-up``, ``10 x 100 requests of each client after ...``; empty where it is not known."""
    closed, trial = study.load.closed, study.trial
    window = f"{trial.requests} requests" if trial.requests is not None else trial.duration
    if closed is not None and closed.requests is not None:
        times = f"{closed.iterations} x " if closed.iterations not in (None, 1) else ""
        window = f"{times}{closed.requests} requests of each client"
    warmup = f"{trial.warmup.get('requests')} requests" if isinstance(trial.warmup, dict) else trial.warmup
    return f"{window} after {warmup} of warm-up" if window else ""


def study(content: Content) -> Iterator[tuple[str, str]]:
    """The line about the study under its name."""
    given, trials = content.run.study, content.run.trials
    yield "Application", content.application
    if given.workload:
        yield "Workload", str(given.workload)
    yield "SLO", sentences.slo(content) if content.slo or not content.closed else "none"
    if content.closed:
        yield "Arrivals", "closed loop: each client waits for its answer"
    elif given.load.process:
        processes = dict.fromkeys(each.load.process for each in _studies(content))
        yield "Arrivals", f"{' or '.join(processes)}, open loop"
    if given.load.driver != "stone":
        yield "Driver", given.load.driver
    if windows := dict.fromkeys(filter(None, map(_window, _studies(content)))):
        yield "Window", " or ".join(windows)
    if trials:
        yield from _environment(trials)
        if documents := {row.documents for row in trials if row.documents}:
            yield "Documents", ", ".join(sorted(documents))
        yield "Started", min(row.started for row in trials)[:16].replace("T", " ")


def _studies(content: Content) -> list[StudyFile]:
    """The study of each treatment, as factors changed it."""
    run = content.run
    return [run.study_of(treatment.id) for treatment in run.plan.treatments] or [run.study]


def _environment(trials: Sequence[TrialRow]) -> Iterator[tuple[str, str]]:
    """What the replicas ran in, and what a hypervisor took from them; nothing of releases that did not look."""
    found = dict.fromkeys(
        row.environment + (f" by {row.accelerator}" if row.accelerator else "") + (", nested" if row.nested else "")
        for row in trials
        if row.environment
    )
    if found:
        yield "Environment", "; ".join(found)
    if most := max((row.steal_share or 0.0 for row in trials), default=0.0):
        yield "Steal", f"up to {format.percent(most)} of a node's processor time"


def origin(content: Content) -> Iterator[tuple[str, str]]:
    """Provenance as names and values, nested ones with their path."""
    provenance, plan = content.run.provenance, content.run.plan
    shown = {k: v for k, v in provenance.document.items() if k not in ("warnings", "command", "tuning")}
    first: dict[str, Any] = {name: shown[name] for name in ("loadstone", "stone", "python", "time") if name in shown}
    yield from _flat({**first, **shown})
    for treatment, values in provenance.tuning.items():
        yield f"tuned for {treatment}", f"{len(values)} values of its hosts; provenance.json has each before and after"
    if (seed := content.run.study.load.seed) is not None:
        yield "seed", f"{seed} (each trial's seed is in its trial.json)"
    for name, value in (("application digest", plan.application_digest), ("source", plan.source)):
        if value:
            yield name, str(value)


def _flat(value: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(inner, dict):
            yield from _flat(inner, f"{prefix}{key}: ")
        elif isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
            for item in inner:
                label = str(item.get("name", ""))
                rest = ", ".join(f"{k} {_value(k, v)}" for k, v in item.items() if k != "name")
                yield f"{name.rstrip('s')} {label}", rest
        else:
            yield name.removesuffix(" bytes"), _value(key, inner)


def _value(key: str, value: Any) -> str:
    if key.startswith("memory") and isinstance(value, int):
        return format.size(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format.number(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Commands:
    """The command that was given, and the one that repeats it from this folder's own files."""

    given: str
    again: str


def repeat(content: Content) -> Commands:
    """How the run was started, and how it is repeated."""
    given = content.run.provenance.command
    overrides = [part for text in content.run.plan.overrides for part in ("--set", str(text))]
    return Commands(
        given=shlex.join(map(str, given)) if isinstance(given, list) else given or "",
        again=shlex.join(["loadstone", "run", "study.yaml", *overrides]),
    )
