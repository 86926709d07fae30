"""loadstone validate: is this study file right?"""

from __future__ import annotations

from loadstone.cli.app import Json, Overrides, StudyFile, out, print_json
from loadstone.cli.words import load_in_words, plural
from loadstone.experiments.plan import read_plan

EPILOG = "Example: [bold]loadstone validate studies/first-light.yaml --set trial.duration=30s[/]"


def command(study: StudyFile, overrides: Overrides = None, json: Json = False) -> None:
    """Check a study file and all it refers to; exit 2 and name file and line of what is wrong."""
    _, plan = read_plan(study, overrides)
    if json:
        print_json({"valid": True, "study": plan.study.name, "treatments": len(plan.treatments)})
        return
    out.print(
        f"{study} is valid: {plan.application.name}, {plural(len(plan.application.services), 'service')}, "
        f"{plural(len(plan.treatments), 'treatment')}; {load_in_words(plan)}",
        markup=False,
    )
