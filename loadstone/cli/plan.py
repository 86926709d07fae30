"""loadstone plan: which trials a study runs, and how long it takes."""

from __future__ import annotations

from rich.table import Table

from loadstone.cli.app import Json, Overrides, StudyFile, out, print_json, warn
from loadstone.cli.plan_summary import load_summary
from loadstone.experiments import schedule
from loadstone.experiments.plan import read_plan
from loadstone.model.errors import grouped
from loadstone.report.format import clock, plural

EPILOG = "Example: [bold]loadstone plan studies/first-light.yaml --json[/]"


def command(study: StudyFile, overrides: Overrides = None, json: Json = False) -> None:
    """Show the treatments and trials of a study without starting anything."""
    _, plan = read_plan(study, overrides)
    for note in grouped(plan.notes):
        warn(note)
    trials = schedule.remaining(plan, [])
    seconds = trials * schedule.trial_seconds(plan)
    if json:
        print_json({**plan.as_data(), "expected_trials": round(trials), "expected_seconds": round(seconds)})
        return
    table = Table("treatment", *plan.treatments[0].levels, "id", box=None, header_style="bold")
    for number, treatment in enumerate(plan.treatments, 1):
        table.add_row(str(number), *treatment.levels.values(), treatment.id)
    out.print(table)
    out.print(f"{load_summary(plan)}: about {plural(round(trials), 'trial')} in {clock(seconds)}", markup=False)
