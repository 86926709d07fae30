"""loadstone init: write a study of an application, ready to run"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone import plugins
from loadstone.applications import catalogue, compose_import
from loadstone.applications.catalogue import LoadedApplication
from loadstone.cli import options
from loadstone.cli.app import out, warn
from loadstone.cli.deployment_plan import infrastructure_for
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments.ledger import writing
from loadstone.experiments.plan import make_plan
from loadstone.model import yaml12
from loadstone.model.document import Document, schema
from loadstone.model.errors import InputError, grouped
from loadstone.model.study import Study

EPILOG = (
    "Examples: [bold]loadstone init docker-compose.yml[/], "
    "[bold]loadstone init hotel-reservation --p99 50ms -o hotel.yaml[/]"
)
_SCHEMA = "study.schema.json"
_LIMIT = "200ms"


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[APPLICATION]",
            help="A compose file, an application file, or a built-in application; by default the compose file here.",
        ),
    ] = None,
    orchestrator: options.Orchestrator = None,
    workload: Annotated[str | None, typer.Option(help="One of the application's workloads.")] = None,
    p99: Annotated[
        str | None, typer.Option("--p99", metavar="TIME", help=f"The limit of P99; by default {_LIMIT}.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The study file.")] = Path(
        "study.yaml"
    ),
) -> None:
    """Write a study that searches the capacity of an application; on a terminal, what is not given is a question."""
    if output.exists():
        raise InputError(f"{output} exists; choose another file with --output")
    what = what or _answer("Compose file or built-in application", _here())
    if what is None:
        known = ", ".join(catalogue.names())
        raise InputError(f"no compose file in this folder; name one, or a built-in application: {known}")
    loaded = catalogue.load(what)
    possible = _orchestrators(loaded)
    orchestrator = orchestrator or _answer(f"Orchestrator ({', '.join(possible)})", possible[0])
    names = list(loaded.application.workloads)
    default = loaded.application.default_workload
    workload = workload or (_answer(f"Workload ({', '.join(names)})", default) if len(names) > 1 else default)
    p99 = p99 or _answer("The latency that 99 % of requests must not exceed", _LIMIT)
    text = _study(what, loaded, orchestrator, workload, p99, output)
    plan = make_plan(Document(text, output))
    for note in grouped(plan.notes):
        warn(note)
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
        (output.parent / _SCHEMA).write_text(json.dumps(schema(Study), indent=1) + "\n", encoding="utf-8")
    out.print(f"{output}: {load_summary(plan)}", markup=False)
    out.print(f"{output.parent / _SCHEMA}: its keys, for completion in editors", markup=False)
    out.print(f"next: loadstone doctor {output}, then loadstone run {output}", markup=False)


def _answer(question: str, default: Any) -> Any:
    """The user's answer on a terminal, else the default."""
    if not sys.stdin.isatty():
        return default
    return typer.prompt(question, default=default, err=True)


def _here() -> str | None:
    """The compose file of the working directory."""
    return next((name for name in compose_import.FILES if Path(name).is_file()), None)


def _orchestrators(loaded: LoadedApplication) -> list[str]:
    """Those that can run the application, the simplest first."""
    has_images = any(service.runs.image is not None for service in loaded.application.services.values())
    names = [
        name
        for name in plugins.names("orchestrators")
        if not has_images or plugins.find("orchestrators", name).runs_containers()
    ]
    return sorted(names, key=lambda name: (name != ("compose" if has_images else "process"), name))


def _study(what: str, loaded: LoadedApplication, orchestrator: str, workload: str, p99: str, output: Path) -> str:
    built_in = what in catalogue.names()
    study = {
        "version": 1,
        "name": loaded.application.name,
        "application": what if built_in else f"./{os.path.relpath(what, output.parent)}",
        "workload": workload,
        "orchestrator": orchestrator,
        "cluster": yaml12.FlowMapping(infrastructure=infrastructure_for(orchestrator)),
        "load": {"capacity": yaml12.FlowMapping(slo={"p99": p99, "completed": "99%"}, precision="5%")},
        "trial": yaml12.FlowMapping(warmup="5s", duration="30s"),
    }
    return f"# yaml-language-server: $schema={_SCHEMA}\n{yaml12.dump(study)}"
