"""A plan without a study file: for verbs that deploy an application and load nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.experiments.plan import Plan, make_plan
from loadstone.experiments.scales import scale_of
from loadstone.infrastructure.choosing import first_infrastructure
from loadstone.model import parts
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Settings

_CLUSTER = ("infrastructure", "managers", "workers")
_ALL_TRACES = {"sample": 1}
"""The default with Jaeger or ``elastic`` where a study does not set traces."""


def plan_for(
    what: Path, overrides: Sequence[str] = (), part: str | None = None, scale: str | None = None, **settings: Any
) -> Plan:
    """The plan of a study file, or of an application (built-in name, its file, a compose file) with the given settings.

    ``overrides`` are those of ``--set``, applied last: ``trial.duration=30s``. Of a study with parts ``part`` is
    planned; raises InputError where it has several and none is named.
    An application's default infrastructure needs nothing but this machine: it emulates hosts where the orchestrator
    needs some. With Jaeger or ``elastic``, services trace all requests, unless a study sets the share.
    """
    if str(what).startswith(("http:/", "https:/")):  # a Path has no two slashes in a row
        raise InputError("nothing is deployed at an address; `loadstone init URL` writes a study of what runs there")
    traced = not {"jaeger", "elastic"}.isdisjoint(settings.get("stacks", ()))
    if what.suffix in (".yaml", ".yml"):
        document = Document.read(what)
        if {"load", "parts"} & set(document.data):
            (document, *others) = parts.documents(document, scale_of(document, scale), [part] if part else []).values()
            if others:
                raise InputError(f"{what} has several parts; choose one with --part")
            for key, value in settings.items():
                path = ("cluster", key) if key in _CLUSTER else (key,)
                document.put(path, value, f"{'.'.join(path)}={value}")
            if traced and "traces" not in {**document.data, **(document.data.get("factors") or {})}:
                document.put(("traces",), _ALL_TRACES, "traces={sample: 1}")
            return _overridden(document, overrides)
    given = {key: value for key, value in settings.items() if key in Settings.model_fields}
    cluster = {key: settings[key] for key in _CLUSTER if key in settings}
    if settings.get("orchestrator") in plugins.names("orchestrators"):  # another is refused with the study
        software = plugins.find("orchestrators", settings["orchestrator"]).software
        infrastructure = first_infrastructure(software, lambda kind: kind.self_contained)
        cluster = {"infrastructure": infrastructure, **cluster}
    study = {
        "version": 1,
        "name": catalogue.load(str(what)).application.name if what.suffix else what.name,
        "application": str(what.resolve()) if what.suffix else str(what),
        "load": {"rates": [1], "slo": {"p99": "1s"}},
        "cluster": cluster,
        "stacks": settings.get("stacks", []),
        **({"traces": _ALL_TRACES} if traced else {}),
        **given,
    }
    return _overridden(Document.of(study, "the command line"), overrides)


def _overridden(document: Document, overrides: Sequence[str]) -> Plan:
    for assignment in overrides:
        document.override(assignment)
    return make_plan(document)
