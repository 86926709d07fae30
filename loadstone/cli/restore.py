"""loadstone restore: restore the kernel settings that a killed run left on hosts."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli.app import Json, out, print_json, warn
from loadstone.experiments import tuning
from loadstone.experiments.plan import Plan, read_plans
from loadstone.experiments.provisioning import reaches_of
from loadstone.infrastructure.machines import MachineLost, this_machine
from loadstone.infrastructure.tuning import failure
from loadstone.model.document import Document
from loadstone.model.records.node.tuning import Restored

EPILOG = "Examples: [bold]sudo loadstone restore[/], [bold]loadstone restore study.yaml[/]"


def command(
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="Also restore the hosts of this study, not only this machine."),
    ] = None,
    json: Json = False,
) -> None:
    """Restore kernel settings to their values before a study tuned them. A run does so when it ends."""
    plans = read_plans(Document.read(study)).values() if study is not None else ()
    reaches = [each for plan in plans for each in reaches_of(plan)]
    machines = [this_machine()] if study is None else tuning.machines_at(reaches)[0]
    restored, errors = tuning.recover(machines)
    if json:
        values = {
            f"{name}:{value.file}": {"found": value.found, "set": value.before}
            for name, found in restored.items()
            for value in found.values
        }
        print_json({"restored": values})
    else:
        _show(restored)
        if not restored and not errors:
            out.print(f"nothing to restore: no study has tuned {'this host' if study is None else 'these hosts'}")
    if errors:
        raise failure(errors)


def _show(restored: dict[str, Restored]) -> None:
    for name, found in restored.items():
        for value in found.values:
            out.print(f"{name}:{value.file}: {value.before} (was {value.found})", markup=False)
        out.print(tuning.sentence(name, found), markup=False)


def recover(plan: Plan) -> None:
    """Restore what a killed run left, before a run starts. Raises PreflightError where that run is still active.
    Machines that do not answer are left to the preflight, which names them as the inventory does."""
    restored, errors = tuning.recover(tuning.machines_at(reaches_of(plan))[0])
    for name, found in restored.items():
        warn(tuning.sentence(name, found))
    if known := [error for error in errors if not isinstance(error, MachineLost)]:
        raise failure(known)
