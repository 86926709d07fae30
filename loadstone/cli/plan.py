"""loadstone plan: which trials a study runs, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from loadstone.cli.app import Json, Overrides, Parts, Scale, StudyFile, out, print_json, warn
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import cluster_files, costs, schedule
from loadstone.experiments.plan import Plan, read_plans
from loadstone.experiments.scales import scale_of
from loadstone.model.base import plural
from loadstone.model.document import Document
from loadstone.model.errors import grouped
from loadstone.model.trial import Treatment
from loadstone.report.format import clock

EPILOG = "Example: [bold]loadstone plan studies/first-light.yaml --json[/]"


def command(
    study: StudyFile,
    overrides: Overrides = None,
    part: Parts = None,
    scale: Scale = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="Also the machines that are made for it: for how long, at what price.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the treatments and trials of a study without starting anything."""
    document = Document.read(study)
    plans = read_plans(document, overrides or (), part or (), scale)
    cluster_files.check(document, plans.values())
    for note in grouped(tuple(dict.fromkeys(note for plan in plans.values() for note in plan.notes))):
        warn(note)
    sizes = {name: _size(plan) for name, plan in plans.items()}
    machines = {name: costs.of(plan) for name, plan in plans.items()} if cost else {}
    if json:
        data = {
            name: {
                **plan.as_data(),
                "expected_trials": round(trials),
                "expected_seconds": _whole(seconds),
                **({"machines": machines[name].as_data()} if cost else {}),
            }
            for (name, plan), (trials, seconds) in zip(plans.items(), sizes.values(), strict=True)
        }
        print_json(data.get("", {"parts": data}))
        return
    if "" in plans:
        _print_treatments(plans[""].treatments)
        out.print(_sized(plans[""], *sizes[""]), markup=False)
        if cost:
            out.print(str(machines[""]), markup=False)
        return
    for name, plan in plans.items():
        if len(plans) == 1:
            _print_treatments(plan.treatments)
        text = f"{name}: {plural(len(plan.treatments), 'treatment')}; {_sized(plan, *sizes[name])}"
        out.print(text, markup=False)
        if cost:
            out.print(f"{name}: {machines[name]}", markup=False)
    trials = sum(trials for trials, _ in sizes.values())
    seconds = [known for _, known in sizes.values() if known is not None]
    longer = ", and parts whose answers decide how long they take" if len(seconds) < len(sizes) else ""
    time = f"in {clock(sum(seconds))}{longer}" if seconds else "whose answers decide how long they take"
    total = f"about {plural(round(trials), 'trial')} {time}"
    at = f", at scale {chosen}" if (chosen := scale_of(document, scale)) else ""
    out.print(f"{plural(len(plans), 'part')}{at}: {total}", markup=False)


def _size(plan: Plan) -> tuple[float, float | None]:
    """About how many trials, and how many seconds they take; None where only a first trial can tell."""
    return schedule.remaining(plan, []), costs.seconds(plan)


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _sized(plan: Plan, trials: float, seconds: float | None) -> str:
    trial = plan.study.trial
    if seconds is None:
        lasts = f"of unknown length, at most {clock(trial.limit)} each: their answers decide"
    else:
        lasts = f"in {'at least ' if trial.counts(plan.study.load) else ''}{clock(seconds)}"
    return f"{load_summary(plan)}: about {plural(round(trials), 'trial')} {lasts}"


def _print_treatments(treatments: Sequence[Treatment]) -> None:
    table = Table("treatment", *map(escape, treatments[0].levels), "id", box=None, header_style="bold")
    for number, treatment in enumerate(treatments, 1):
        table.add_row(str(number), *map(escape, treatment.levels.values()), treatment.id)
    out.print(table)
