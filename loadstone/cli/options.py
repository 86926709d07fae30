"""What `up` and `render` share: an application and the settings to deploy it with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone import plugins
from loadstone.cli.deployment_plan import plan_for
from loadstone.experiments.plan import Plan
from loadstone.model.errors import InputError

What = Annotated[
    Path,
    typer.Argument(metavar="APPLICATION", help="A built-in application, an application or compose file, or a study."),
]
Orchestrator = Annotated[
    str | None, typer.Option(metavar="NAME", help=f"One of {', '.join(plugins.names('orchestrators'))}.")
]
Scaling = Annotated[str | None, typer.Option(metavar="NAME", help="baseline, vertical, horizontal or unlimited.")]
Profile = Annotated[str | None, typer.Option(metavar="NAME", help="default, dsb-quirks or paper.")]
Documents = Annotated[str | None, typer.Option(metavar="NAME", help="postgres or mongodb.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The dataset of the stores.")]
Infrastructure = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"Where nodes come from: one of {', '.join(plugins.names('infrastructure'))}."),
]
Managers = Annotated[int | None, typer.Option(metavar="N", help="Nodes that run the orchestrator's own services.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Nodes that run replicas.")]
Stacks = Annotated[
    list[str] | None,
    typer.Option("--stack", metavar="NAME", help="Also deploy prometheus, grafana, jaeger or elastic; repeatable."),
]


def given_plan(
    what: Path,
    overrides: list[str] | None = None,
    stacks: list[str] | None = None,
    part: str | None = None,
    scale: str | None = None,
    **settings: str | int | None,
) -> Plan:
    """The plan of a study or an application with the settings that were given."""
    given: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    if stacks:
        given["stacks"] = stacks
    return plan_for(what, overrides or (), part, scale, **given)


def chosen_plan(
    what: Path,
    overrides: list[str] | None = None,
    stacks: list[str] | None = None,
    part: str | None = None,
    scale: str | None = None,
    **settings: str | int | None,
) -> Plan:
    """The plan of exactly one treatment. Raises InputError where the study has several."""
    plan = given_plan(what, overrides, stacks, part, scale, **settings)
    if len(plan.treatments) != 1:
        levels = "; ".join(treatment.label for treatment in plan.treatments[:4])
        raise InputError(f"{what} has {len(plan.treatments)} treatments ({levels}); choose levels by options")
    return plan
