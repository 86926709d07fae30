"""loadstone up: deploy an application and leave it running."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli.app import Json, err, out, print_json
from loadstone.cli.options import What, chosen_plan
from loadstone.cli.progress import Display
from loadstone.experiments.deployed import Deployed
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.preflight import infrastructure_of, require
from loadstone.model.errors import InputError
from loadstone.orchestration import state

EPILOG = (
    "Examples: [bold]loadstone up hotel-reservation[/], [bold]loadstone up hotel-reservation --scaling horizontal[/]"
)


def command(
    what: What,
    orchestrator: Annotated[str | None, typer.Option(help="Which orchestrator places the replicas.")] = None,
    scaling: Annotated[str | None, typer.Option(help="baseline, vertical, horizontal or unlimited.")] = None,
    profile: Annotated[str | None, typer.Option(help="default, dsb-quirks or paper.")] = None,
    documents: Annotated[str | None, typer.Option(help="postgres or mongodb.")] = None,
    json: Json = False,
) -> None:
    """Deploy, seed and wait until ready; prints where requests go. `loadstone down` removes it."""
    plan = chosen_plan(what, orchestrator=orchestrator, scaling=scaling, profile=profile, documents=documents)
    name = f"up-{plan.study.name}"
    if state.load(name) is not None:
        raise InputError(f"{plan.study.name} is up already; `loadstone down {name}` removes it")
    for warning in require(plan):
        err.print(f"[yellow]warning:[/] {warning}")
    nodes = infrastructure_of(plan).nodes()
    deployed = Deployed(plan, plan.treatments[0], nodes, name, state.state_folder() / f"{name}.files")
    with interruptible(), Display() as display:
        deployed.start(display)
    url = f"http://{deployed.targets()[0]}"
    wrong = [row for row in deployed.orchestrator.audit() if not row.ok]
    for row in wrong:
        err.print(f"[yellow]warning:[/] {row.replica} has {row.what} {row.effective}, wanted {row.wanted}")
    if json:
        print_json({"name": name, "url": url, "replicas": len(deployed.deployment.replicas)})
        return
    out.print(f"{plan.application.name} is up: {len(deployed.deployment.replicas)} replicas, {url}")
    out.print(f"remove it with: loadstone down {name}")
