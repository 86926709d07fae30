"""The plan that a run folder holds, read by today's models, and what a plan of today means differently.

A run of an earlier release lacks the keys that came since: they have their defaults, and nothing differs by them. Its
treatments keep the ids under which their trials were written down.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone.experiments.plan import Own, Plan
from loadstone.model.application import Application
from loadstone.model.base import abridged
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.factors import called
from loadstone.model.study import Settings, Study
from loadstone.model.trial import Treatment

_SHOWN = 4
"""Differences that are named; more are counted."""


def data_of(folder: Path) -> dict[str, Any]:
    """``plan.json``; raises InputError where it cannot be read."""
    try:
        stored = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        if not isinstance(stored, dict):
            raise ValueError("it holds no object")
        return stored
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{folder}/plan.json cannot be read: {error}\n"
            f"  `loadstone report {folder}` shows what can be; to go on, start a new run"
        ) from None


def read(folder: Path) -> Plan:
    """What a run was planned as, from its folder alone: enough to say what it has done, not to go on with it.

    Raises InputError where the folder is damaged, or of a release that wrote what is not understood any more.
    """
    stored = data_of(folder)
    try:
        study, application = _study(stored["study"]), _application(stored["application"])
        treatments = tuple(_treatment(treatment, stored, study, application) for treatment in stored["treatments"])
        others = {digest: _application(each) for digest, each in stored.get("applications", {}).items()}
        own = tuple(
            Own(_own(stored["study"], each), others.get(each.application_digest, application), files=stored["files"])
            for each in treatments
        )
        return Plan(study, application, stored["application_digest"], treatments, own)
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        why: object = error
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(f"{folder}/plan.json{_by(stored)} cannot be read by this release: {why}") from None


def adopt(folder: Path, plan: Plan) -> Plan:
    """A plan of today with its treatments as the run knows them; raises InputError if it means another run."""
    then = read(folder)
    meant = _meaning(then)
    for treatment, stored in zip(meant["treatments"].values(), data_of(folder)["treatments"], strict=True):
        # What ran in place of what was not installed then: of the plan that is read, it is what would run today.
        treatment["stand_ins"] = stored.get("stand_ins")
    found = list(_differences(meant, _meaning(plan)))
    if found:
        raise InputError(
            f"{folder} was started with a different plan (differences: {abridged(found, _SHOWN)}); "
            "use the study file and --set options that it was started with, or start a new run"
        )
    ids = {treatment.label: treatment.id for treatment in then.treatments}
    known = tuple(treatment.model_copy(update={"known_as": ids[treatment.label]}) for treatment in plan.treatments)
    return replace(plan, treatments=known)


def _study(data: Mapping[str, Any]) -> Study:
    """Release 0.1.0 listed the addresses of load workers, none where it generated the load alone."""
    load = data["load"]
    if isinstance(workers := load.get("workers"), list):
        load = {**load, "workers": len(workers) or None}
    return Study.model_validate({**data, "load": load})


def _application(data: Mapping[str, Any]) -> Application:
    """A session's path is written down empty, and none is given."""
    workloads = {
        name: {**workload, "operations": {key: _given(operation) for key, operation in workload["operations"].items()}}
        for name, workload in data.get("workloads", {}).items()
    }
    return Application.model_validate({**data, "workloads": workloads})


def _given(operation: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in operation.items() if (key, value) != ("path", "")}


def _treatment(data: Mapping[str, Any], stored: Mapping[str, Any], study: Study, application: Application) -> Treatment:
    digests = ("script_digest", "dataset_digest", "neighbour_digest")
    keys = ("levels", "settings", "resources", "replicas", *digests, "varied")
    settings = Settings.model_validate(data["settings"])
    return Treatment.model_validate(
        {
            "application": data.get("application", application.name),
            "application_digest": data.get("application_digest", stored["application_digest"]),
            "levels": {name: called(name, None, settings) for name in study.factors},
            "known_as": data["id"],
            **{key: data[key] for key in keys if key in data},
        }
    )


def _own(study: Mapping[str, Any], treatment: Treatment) -> Study:
    """The study of one treatment."""
    document = Document.of({**study, **treatment.settings.model_dump(mode="json")}, "plan.json").without(
        "factors", "except"
    )
    values = ((tuple(path.split(".")), value) for path, value in (treatment.varied or {}).items())
    return _study(document.with_values((path, value, path) for path, value in values).data)


def _meaning(plan: Plan) -> dict[str, Any]:
    """What decides what is run, without digests and ids: they change with every key that a release adds."""
    meant: dict[str, Any] = json.loads(json.dumps(plan.as_data()))
    treatments = {
        treatment["label"]: {**treatment, "id": None, "application_digest": None} for treatment in meant["treatments"]
    }
    called = {treatment.application_digest: treatment.label for treatment in reversed(plan.treatments)}
    others = {
        f"of {called[digest]}": application
        for digest, application in meant.get("applications", {}).items()
        if digest != plan.application_digest
    }
    return {
        **{key: meant[key] for key in ("study", "application", "files")},
        "applications": others,
        "treatments": treatments,
    }


def _differences(then: Any, now: Any, at: str = "") -> Iterator[str]:
    """``load.timeout (2s, now 5s)``: where two documents differ, and how."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(then.get(key), now.get(key), f"{at}.{key}" if at else key)
    elif then != now:
        yield f"{at} ({_short(then)}, now {_short(now)})"


def _short(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _by(stored: Mapping[str, Any]) -> str:
    return f", by Loadstone {stored['loadstone']}," if "loadstone" in stored else ""
