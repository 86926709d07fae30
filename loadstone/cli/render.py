"""loadstone render: print an orchestrator's files of a deployment, or those that make or prepare machines for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.segment import Segment, Segments

from loadstone import plugins
from loadstone.cli import options
from loadstone.cli.app import Overrides, Part, Scale, out, warn
from loadstone.cli.options import What, chosen_plan, given_plan
from loadstone.experiments.deployment import orchestrate
from loadstone.experiments.durable import writing
from loadstone.experiments.provisioning import infrastructure_of, machine_needs, sketch
from loadstone.model.deployment import EXECUTABLE, is_script
from loadstone.model.errors import grouped

EPILOG = (
    "Examples: [bold]loadstone render hotel-reservation --orchestrator swarm --scaling horizontal -o files/[/], "
    "[bold]loadstone render study.yaml --infrastructure ansible -o machines/[/]"
)
_TOOLS = plugins.names("machine_files")


def command(
    what: What,
    orchestrator: options.Orchestrator = None,
    scaling: options.Scaling = None,
    profile: options.Profile = None,
    documents: options.Documents = None,
    dataset: options.Dataset = None,
    infrastructure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Where nodes come from: one of {', '.join(plugins.names('infrastructure'))}; with one of "
            f"{', '.join(_TOOLS)}, its files for the machines of all treatments are rendered.",
        ),
    ] = None,
    managers: options.Managers = None,
    workers: options.Workers = None,
    stack: options.Stacks = None,
    overrides: Overrides = None,
    part: Part = None,
    scale: Scale = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write the files to this folder; by default they are printed."
        ),
    ] = None,
) -> None:
    """Render the files that `up` would deploy, or files that make or prepare machines; needs no cluster."""
    of_machines = infrastructure in _TOOLS
    plan = (given_plan if of_machines else chosen_plan)(
        what,
        overrides,
        stack,
        orchestrator=orchestrator,
        scaling=scaling,
        profile=profile,
        documents=documents,
        dataset=dataset,
        infrastructure=infrastructure if not of_machines or _makes_machines(infrastructure) else None,
        managers=managers,
        workers=workers,
        part=part,
        scale=scale,
    )
    for note in grouped(plan.notes):
        warn(note)
    if of_machines:
        files = plugins.find("machine_files", str(infrastructure))(machine_needs(plan))
    else:
        (treatment,) = plan.treatments
        sketched = sketch(infrastructure_of(plan.study.cluster, "render"), treatment)
        files = orchestrate(plan.deployable(treatment), sketched, plan.study.name, Path(output or ".")).render()
    if output is None:
        for name, text in files.items():
            out.print(Segments([Segment(f"# {name}\n{text}\n")]))  # a text of Rich's would have spaces for tabs
        return
    with writing(output):
        for name, text in files.items():
            (output / name).parent.mkdir(parents=True, exist_ok=True)
            (output / name).write_text(text, encoding="utf-8")
            if is_script(text):
                (output / name).chmod(EXECUTABLE | 0o200)
            out.print(str(output / name), markup=False)


def _makes_machines(tool: str | None) -> bool:
    """Whether a tool is an infrastructure by itself: the study is read as one on it."""
    known = tool in plugins.names("infrastructure")
    return known and bool(plugins.find("infrastructure", str(tool)).makes_machines)
