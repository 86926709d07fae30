"""Facts about a study, its deployments and its provenance, for the page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from loadstone.report import format, sentences
from loadstone.report.content import Content


def deployments(content: Content) -> list[dict[str, Any]]:
    """By treatment: the replicas of its last audit, each with the limits that the kernel had in force."""
    found = []
    for treatment in content.treatments:
        rows = content.rows("audit", treatment=treatment.label)
        if not rows:
            continue
        last = rows[-1]["trial_id"]
        audited = replicas([row for row in rows if row["trial_id"] == last])
        found.append({"treatment": treatment.label, "trial": last, **audited})
    return found


def replicas(audit: list[dict[str, Any]]) -> dict[str, Any]:
    """By replica what an audit read back, and all things that it looked at."""
    found: dict[str, dict[str, Any]] = {}
    for row in audit:
        found.setdefault(row["replica"], {"on": row["node"]})[row["what"]] = row
    return {"what": list(dict.fromkeys(row["what"] for row in audit)), "replicas": found}


def study(content: Content) -> Iterator[tuple[str, str]]:
    """The line about the study under its name."""
    given, trials = content.run.study, content.run.trials
    load, trial = given.get("load") or {}, given.get("trial") or {}
    yield "Application", content.application
    if workload := given.get("workload"):
        yield "Workload", str(workload)
    yield "SLO", sentences.slo(content) if content.slo or not content.closed else "none"
    if content.closed:
        yield "Arrivals", "closed loop: each client waits for its answer"
    elif arrival := load.get("arrival"):
        yield "Arrivals", f"{arrival.get('process', 'mixed') if isinstance(arrival, dict) else arrival}, open loop"
    if (driver := load.get("driver", "stone")) != "stone":
        yield "Driver", str(driver)
    if window := trial.get("duration"):
        yield "Window", f"{window} after {trial.get('warmup', '0s')} of warm-up"
    documents = sorted(set(trials["documents"].to_pylist()))
    if documents:
        yield "Documents", ", ".join(documents)
    if len(trials):
        yield "Started", str(min(trials["started"].to_pylist()))[:16].replace("T", " ")


def origin(content: Content) -> Iterator[tuple[str, str]]:
    """Provenance as names and values, nested ones with their path."""
    order = ("loadstone", "stone", "python", "time")
    provenance = content.run.provenance
    first = {name: provenance[name] for name in order if name in provenance}
    yield from _flat({**first, **{k: v for k, v in provenance.items() if k not in ("warnings", "command", "tuning")}})
    for treatment, values in (provenance.get("tuning") or {}).items():
        yield f"tuned for {treatment}", f"{len(values)} values of its hosts; provenance.json has each before and after"
    load = content.run.study.get("load") or {}
    if "seed" in load:
        yield "seed", f"{load['seed']} (each trial's seed is in its trial.json)"
    for name in ("application_digest", "source"):
        if value := content.run.plan.get(name):
            yield name.replace("_", " "), str(value)


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


def repeat(content: Content) -> dict[str, str]:
    """The command that was given, and the one that repeats it from this folder's own files."""
    given = content.run.provenance.get("command")
    overrides = [part for text in content.run.plan.get("overrides") or [] for part in ("--set", str(text))]
    return {
        "given": shlex.join(map(str, given)) if isinstance(given, list) else str(given or ""),
        "again": shlex.join(["loadstone", "run", "study.yaml", *overrides]),
    }
