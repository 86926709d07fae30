"""loadstone render: the native files of a deployment, without deploying."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.app import out
from loadstone.cli.options import What, chosen_plan
from loadstone.experiments.deployed import orchestrate
from loadstone.experiments.ledger import writing
from loadstone.experiments.preflight import infrastructure_of

EPILOG = "Example: [bold]loadstone render hotel-reservation --orchestrator process --scaling horizontal -o files/[/]"


def command(
    what: What,
    orchestrator: Annotated[str | None, typer.Option(help="Whose files.")] = None,
    scaling: Annotated[str | None, typer.Option(help="baseline, vertical, horizontal or unlimited.")] = None,
    profile: Annotated[str | None, typer.Option(help="default, dsb-quirks or paper.")] = None,
    documents: Annotated[str | None, typer.Option(help="postgres or mongodb.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write files here; else they are printed.")
    ] = None,
) -> None:
    """Render the files that would be deployed; starts nothing."""
    plan = chosen_plan(what, orchestrator=orchestrator, scaling=scaling, profile=profile, documents=documents)
    nodes = infrastructure_of(plan).nodes()
    files = orchestrate(plan, plan.treatments[0], nodes, plan.study.name, Path(output or ".")).render()
    if output is None:
        for name, text in files.items():
            out.print(f"# {name}", markup=False)
            out.print(text, markup=False)
        return
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (output / name).write_text(text, encoding="utf-8")
            out.print(str(output / name), markup=False)
