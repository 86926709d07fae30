"""loadstone doctor: check that this machine can run a study, and what would disturb it"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli import selftest
from loadstone.cli.app import Json, Part, Scale, out, print_json
from loadstone.cli.deployment_plan import plan_for
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.plan import Plan
from loadstone.experiments.preflight import Inspection, inspect
from loadstone.experiments.provisioning import nodes_of
from loadstone.experiments.tuning import conditions
from loadstone.model.cluster import Node
from loadstone.model.errors import LoadstoneError, PreflightError

EPILOG = (
    "Examples: [bold]loadstone doctor[/], [bold]loadstone doctor studies/first-light.yaml[/], "
    "[bold]loadstone doctor --driver[/]"
)
_MARKS = {"ok": "[green]ok[/]     ", "warning": "[yellow]warning[/]", "error": "[red]error[/]  "}


def command(
    what: Annotated[
        str, typer.Argument(metavar="STUDY|APPLICATION", help="The study or application to run.")
    ] = "hotel-reservation",
    driver: Annotated[
        bool,
        typer.Option(
            "--driver", help="Test this machine as a load generator (lateness, rates, arrivals); takes a minute."
        ),
    ] = False,
    part: Part = None,
    scale: Scale = None,
    json: Json = False,
) -> None:
    """Check that this machine has what a study needs; changes nothing. Exit 3 if something is missing."""
    if driver:
        with interruptible():
            selftest.run(json)
        return
    plan = plan_for(Path(what), part=part, scale=scale)
    found = inspect(plan)
    findings = [*found.findings, *conditions(plan, _nodes(plan, found))]
    if json:
        keys = ("what", "level", "message", "remedy")
        print_json([{key: getattr(finding, key) for key in keys} for finding in findings])
    else:
        for finding in findings:
            out.print(_MARKS[finding.level], end=" ")
            out.print(f"{finding.what}: {finding.message}", markup=False)
            if finding.remedy:
                out.print(f"        {finding.remedy}", markup=False)
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        raise PreflightError(f"{len(errors)} of {len(findings)} checks failed")


def _nodes(plan: Plan, found: Inspection) -> list[Node]:
    """Those that can be looked at; none where one of them does not answer, which is among the findings then."""
    try:
        return nodes_of(plan)
    except LoadstoneError:
        if not found.errors:
            raise
        return []
