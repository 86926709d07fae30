"""loadstone init: write a study of an application, ready to run"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone import plugins
from loadstone.applications import catalogue, compose_import
from loadstone.applications.catalogue import LoadedApplication
from loadstone.applications.workload_import import ImportedWorkload, unique
from loadstone.applications.workload_import import har as har_file
from loadstone.applications.workload_import import openapi as openapi_file
from loadstone.cli import options
from loadstone.cli.app import out, warn
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments.durable import write_text, writing
from loadstone.experiments.plan import Plan, make_plan
from loadstone.infrastructure.choosing import first_infrastructure
from loadstone.model import yaml12
from loadstone.model.address import is_url, parsed
from loadstone.model.base import plural
from loadstone.model.document import Document, schema
from loadstone.model.errors import InputError, Interrupted, grouped
from loadstone.model.study import Settings, Study
from loadstone.orchestration.base import Orchestrator

EPILOG = (
    "Examples: [bold]loadstone init docker-compose.yml[/], [bold]loadstone init http://127.0.0.1:8080/search?q=tea[/], "
    "[bold]loadstone init http://127.0.0.1:8080 --openapi openapi.yaml[/], "
    "[bold]loadstone init hotel-reservation --p99 50ms -o hotel.yaml[/]"
)
_SCHEMA = "study.schema.json"
_LIMIT = "200ms"
_OPTIONS = {"load.capacity.slo.p99": "--p99", "workload": "--workload", "orchestrator": "--orchestrator"}
"""What chooses the value of a key."""
_COMMENT = "# A first answer in minutes; for results that count: precision: 5%, duration: 30s or more.\n"


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="APPLICATION",
            help="A compose file, an application file, a built-in application, or the address of a server that is"
            " there (http://host:port); by default the compose file here.",
        ),
    ] = None,
    orchestrator: options.Orchestrator = None,
    workload: Annotated[str | None, typer.Option(metavar="NAME", help="One of the application's workloads.")] = None,
    p99: Annotated[
        str | None, typer.Option("--p99", metavar="TIME", help=f"The limit of P99; by default {_LIMIT}.")
    ] = None,
    openapi: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a workload of the GETs of an OpenAPI file.")
    ] = None,
    har: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a workload of the requests that a browser recorded.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The study file.")] = Path(
        "study.yaml"
    ),
) -> None:
    """Write a study that searches the capacity of an application; on a terminal, what is not given is a question."""
    with writing(output):
        there = output.exists()
    if there:
        raise InputError(f"{output} exists; choose another file with --output")
    imported = _imported(openapi, har, what, workload)
    if what is None:
        what = imported.url if imported is not None else None
    if what is None:
        what = _answer("Compose file, address or built-in application", _here())
    if what is None:
        known = ", ".join(catalogue.names())
        raise InputError(
            "no compose file in this folder; name one, the address of a server (http://host:port), or a built-in"
            f" application: {known}"
        )
    loaded = catalogue.load(what)
    deployment = _deployment(loaded, orchestrator)
    study: dict[str, Any] = {"version": 1, "name": loaded.application.name, "application": _named(what, output)}
    beside = output.with_name(f"{output.stem}.workload.yaml")
    if imported is not None:
        name = unique(_name(openapi or har), loaded.application.workloads)
        study["workloads"] = yaml12.FlowMapping({name: beside.name})
    else:
        study |= _chosen_workload(loaded, workload)
    study |= deployment
    if p99 is None:
        p99 = _answer("The latency that 99 % of requests must not exceed", _LIMIT)
    study |= {
        "load": {"capacity": yaml12.FlowMapping(slo={"p99": p99, "completed": "99%"}, precision="10%")},
        "trial": yaml12.FlowMapping(warmup="3s", duration="10s"),
    }
    text = f"# yaml-language-server: $schema={_SCHEMA}\n{_COMMENT}{yaml12.dump(study)}"
    try:
        plan = _write(text, output, beside, imported)
    except InputError as error:
        raise _without_the_study(error, output, beside, openapi or har) from None
    out.print(f"{output}: {load_summary(plan)}", markup=False)
    if imported is not None:
        out.print(f"{beside}: {plural(len(imported.workload['operations']), 'operation')}", markup=False)
    out.print(f"{output.parent / _SCHEMA}: its keys, for completion in editors", markup=False)
    out.print(f"next: loadstone doctor {output}, then loadstone run {output}", markup=False)


def _answer(question: str, default: Any) -> Any:
    """The user's answer on a terminal, else the default."""
    if not sys.stdin.isatty():
        return default
    try:
        return typer.prompt(question, default=default, err=True)
    except typer.Abort:
        raise Interrupted("interrupted; nothing was written") from None


def _here() -> str | None:
    """The compose file of the working directory."""
    return next((name for name in compose_import.FILES if Path(name).is_file()), None)


def _has_images(loaded: LoadedApplication) -> bool:
    """Whether services run images that others made."""
    return any(service.runs.image is not None for service in loaded.application.services.values())


def _orchestrators(loaded: LoadedApplication) -> list[str]:
    """Those that can run the application: the default of studies before those that need no managers, then the rest."""
    has_images, default = _has_images(loaded), Settings().orchestrator
    kinds: list[type[Orchestrator]] = [plugins.find("orchestrators", name) for name in plugins.names("orchestrators")]
    possible = [kind for kind in kinds if not has_images or kind.runs_containers()]
    return [kind.name for kind in sorted(possible, key=lambda kind: (kind.name != default, kind.managed, kind.name))]


def _named(what: str, output: Path) -> str:
    """What a study calls the application, as seen from the study file."""
    if is_url(what):
        url = parsed(what)
        return f"{url.scheme}://{url.netloc}"
    return what if what in catalogue.names() else f"./{os.path.relpath(what, output.parent)}"


def _imported(
    openapi: Path | None, har: Path | None, what: str | None, workload: str | None
) -> ImportedWorkload | None:
    """The workload that a file describes, where one is given."""
    if openapi is None and har is None:
        return None
    if (openapi and har) or workload is not None:
        raise InputError("--openapi, --har and --workload each choose the workload; give one of them")
    if openapi is not None:
        return openapi_file.workload(openapi)
    assert har is not None
    return har_file.workload(har, what if what is not None and is_url(what) else None)


def _name(file: Path | None) -> str:
    """What the workload of a file is called."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", file.name.partition(".")[0]).strip("-") or "imported" if file else ""


def _chosen_workload(loaded: LoadedApplication, given: str | None) -> dict[str, Any]:
    application = loaded.application
    names, default = list(application.workloads), application.default_workload
    if application.url is not None and given is None:  # written out, so that it can be changed
        mix = application.workloads[default].model_dump(mode="json", exclude_unset=True)
        return {"workloads": {"requests": mix}}
    if given is None:
        given = _answer(f"Workload ({', '.join(names)})", default) if len(names) > 1 else default
    return {"workload": given}


def _deployment(loaded: LoadedApplication, given: str | None) -> dict[str, Any]:
    """What runs the application; nothing where someone else deployed it."""
    if loaded.application.url is not None:
        if given is not None:
            raise InputError(f"--orchestrator: {loaded.application.url} is deployed already; leave it out")
        return {}
    possible = _orchestrators(loaded)
    name = given if given is not None else _answer(f"Orchestrator ({', '.join(possible)})", possible[0])
    software = plugins.find("orchestrators", name).software
    # Emulated hosts reach no registry: images of others are pulled by the engine or cluster that is there.
    has_images = _has_images(loaded)
    infrastructure = first_infrastructure(
        software, lambda kind: kind.finds_clusters if has_images else kind.self_contained
    )
    return {"orchestrator": name, "cluster": yaml12.FlowMapping(infrastructure=infrastructure)}


def _without_the_study(error: InputError, output: Path, beside: Path, imported: Path | None) -> InputError:
    """Without the lines of files that are not written: what is wrong came by an option, an answer or another file."""
    problems = [
        replace(it, file=_OPTIONS.get(it.where, it.where), line=0, where="")
        if it.file == output
        else replace(it, file=imported, line=0)
        if imported is not None and Path(it.file).resolve() == beside.resolve()
        else it
        for it in error.problems
    ]
    return InputError(problems) if problems else error


def _write(text: str, output: Path, beside: Path, imported: ImportedWorkload | None) -> Plan:
    """Write the study, its schema and the workload that it refers to; nothing where the study is not valid."""
    made = False
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        if imported is not None:
            if beside.exists():
                raise InputError(f"{beside} exists; choose another file with --output")
            write_text(beside, yaml12.dump(imported.workload))
        try:
            plan = make_plan(Document(text, output))
            for note in [*(imported.notes if imported is not None else ()), *grouped(plan.notes)]:
                warn(note)
            write_text(output.parent / _SCHEMA, json.dumps(schema(Study), indent=1) + "\n")
            write_text(output, text)
            made = True
        finally:
            if imported is not None and not made:
                beside.unlink()
    return plan
