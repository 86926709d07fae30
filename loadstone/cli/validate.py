"""loadstone validate: check a study, an application or a compose file"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.applications import catalogue
from loadstone.applications.catalogue import LoadedApplication
from loadstone.applications.compose_import.sources import ComposeSource
from loadstone.cli.app import Json, Overrides, Scale, out, print_json, warn
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import cluster_files
from loadstone.experiments.plan import read_plans
from loadstone.experiments.scales import scale_of
from loadstone.model import yaml12
from loadstone.model.base import plural
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem, grouped
from loadstone.model.parts import SCALES

EPILOG = (
    "Examples: [bold]loadstone validate studies/first-light.yaml --set trial.duration=30s[/], "
    "[bold]loadstone validate docker-compose.yml[/]"
)


def command(
    what: Annotated[
        Path, typer.Argument(metavar="FILE", help="A study, application or compose file.", show_default=False)
    ],
    overrides: Overrides = None,
    scale: Scale = None,
    json: Json = False,
) -> None:
    """Check a file and all that it refers to. Exit 2 with the file and line of each error.

    For a compose file, the resulting application file is printed; what it does not carry over is printed as warnings.
    """
    keys = set(ComposeSource.read(what).data)  # with the tags that compose files may have
    if {"services", "include"} & keys and not {"application", "load", "parts"} & keys:
        if overrides or scale is not None:
            raise InputError(f"{'--set' if overrides else '--scale'} is for studies; this is an application")
        _print_application(what, catalogue.load(str(what)), json)
        return
    document = Document.read(what)
    at_default = scale_of(document, scale)
    for other in SCALES if at_default is not None and scale is None else ():
        if other != at_default:
            read_plans(Document.read(what), overrides or (), scale=other)
    plans = read_plans(document, overrides or (), scale=scale)
    cluster_files.check(document, plans.values())
    _warn(tuple(dict.fromkeys(note for plan in plans.values() for note in plan.notes)))
    if json:
        treatments = {name: len(plan.treatments) for name, plan in plans.items()}
        counts = {"parts": treatments} if "" not in treatments else {"treatments": treatments[""]}
        print_json({"valid": True, "study": document.data["name"], **counts})
        return
    for name, plan in plans.items():
        out.print(
            f"{what} is valid: {f'{name}: ' if name else ''}{plan.application.name}, "
            f"{plural(len(plan.application.services), 'service')}, "
            f"{plural(len(plan.treatments), 'treatment')}; {load_summary(plan)}",
            markup=False,
        )


def _print_application(file: Path, loaded: LoadedApplication, json: bool) -> None:
    application = loaded.application
    data = application.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if json:
        print_json({"valid": True, "application": data, "notes": [str(note) for note in loaded.notes]})
        return
    _warn(loaded.notes)
    if loaded.imported:
        out.print(yaml12.dump(data), markup=False, end="")
    else:
        services, workloads = len(application.services), len(application.workloads)
        contents = f"{application.name}, {plural(services, 'service')}, {plural(workloads, 'workload')}"
        out.print(f"{file} is valid: {contents}", markup=False)


def _warn(notes: tuple[Problem, ...]) -> None:
    for note in grouped(notes):
        warn(note)
