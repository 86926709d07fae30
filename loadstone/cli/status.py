"""loadstone status: deployments that are up, and the state of runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.cli.app import Json, Results, Run, out, print_json
from loadstone.cli.down import warn_of_others
from loadstone.experiments import runs
from loadstone.experiments.pruning import foretold
from loadstone.experiments.resume import look
from loadstone.experiments.schedule import remaining
from loadstone.infrastructure import journal
from loadstone.infrastructure.cloud import held
from loadstone.model.base import plural

EPILOG = "Examples: [bold]loadstone status[/], [bold]loadstone status first-light --json[/]"


def command(run: Run = None, results: Results = Path("results"), json: Json = False) -> None:
    """Show running deployments and the progress of a run."""
    from loadstone.report import terminal  # a slow import that --help does not need

    up = [entry.name for entry in journal.entries()]
    warn_of_others()
    machines, now = held.listed(), datetime.now(UTC)
    folder = runs.locate(results, run) if run or runs.any_in(results) else None
    found = [_state(each) for each in runs.parts_of(folder)] if folder is not None else []
    if json:
        several = folder is not None and runs.parts_of(folder) != [folder]
        shown: dict[str, Any] | None = found[0] if found else None
        progress = {"folder": str(folder), "parts": found} if several else shown
        made = {name: {**each.model_dump(mode="json"), "cost": each.cost(now)} for name, each in machines.items()}
        print_json({"deployments": up, "machines": made, "run": progress})
        return
    out.print("deployments: " + (", ".join(up) or "none"), markup=False)
    for name, each in machines.items():
        out.print(f"{name}: {each.sentence(now)}; loadstone down {name} gives them back", markup=False)
    if folder is None:
        out.print(f"no run in {results}/ yet; `loadstone run STUDY` starts one", markup=False)
    for state in found:
        if len(found) > 1:
            out.print(state["folder"], style="bold", markup=False)
        out.print(terminal.render(Path(state["folder"])))
        out.print(f"run by Loadstone {state['loadstone'] or 'of unknown version'}", markup=False)
        if not state["complete"]:
            left = state["remaining_trials"]
            are = "is" if left == 1 else "are"
            resume = f"loadstone run --resume {state['folder']}"
            out.print(f"about {plural(left, 'trial')} {are} left: {resume}", markup=False)
    not_begun = runs.not_begun(folder) if folder is not None else []
    if not_begun:
        out.print(f"not begun: {', '.join(not_begun)}: loadstone run --resume {folder}", markup=False)


def _state(folder: Path) -> dict[str, Any]:
    """How far a run is."""
    plan, ledger = look(folder)
    complete = runs.complete(plan, ledger)
    left = 0 if complete else round(remaining(plan, ledger.records, foretold(ledger.folder)))
    return {
        "folder": str(folder),
        "finished_trials": len(ledger.records),
        "remaining_trials": left,
        "invalid_trials": sum(record.outcome.verdict == "invalid" for record in ledger.records),
        "complete": complete,
        "loadstone": runs.version(folder),
    }
