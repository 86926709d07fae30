"""loadstone status: deployments that are up, and the state of runs."""

from __future__ import annotations

from pathlib import Path

from loadstone.cli.app import Json, Results, Run, out, print_json
from loadstone.experiments import runs
from loadstone.experiments.pruning import foretold
from loadstone.experiments.resume import look
from loadstone.experiments.schedule import remaining
from loadstone.infrastructure import journal
from loadstone.report.format import plural

EPILOG = "Examples: [bold]loadstone status[/], [bold]loadstone status first-light --json[/]"


def command(run: Run = None, results: Results = Path("results"), json: Json = False) -> None:
    """Show running deployments and the progress of a run."""
    from loadstone.report import terminal  # a slow import that --help does not need

    up = [entry.name for entry in journal.entries()]
    folder = runs.locate(results, run) if run or any(results.glob("*/*/plan.json")) else None
    data: dict[str, object] = {"deployments": up, "run": None}
    if folder is not None:
        plan, ledger = look(folder)
        complete = runs.complete(plan, ledger)
        left = 0 if complete else round(remaining(plan, ledger.records, foretold(ledger.folder)))
        data["run"] = {
            "folder": str(folder),
            "finished_trials": len(ledger.records),
            "remaining_trials": left,
            "invalid_trials": sum(record.outcome.verdict == "invalid" for record in ledger.records),
            "complete": complete,
            "loadstone": runs.version(folder),
        }
    if json:
        print_json(data)
        return
    out.print("deployments: " + (", ".join(up) or "none"), markup=False)
    if folder is None:
        out.print(f"no run in {results}/ yet; `loadstone run STUDY` starts one", markup=False)
        return
    out.print(terminal.render(folder))
    out.print(f"run by Loadstone {runs.version(folder) or 'of unknown version'}", markup=False)
    if not complete:
        are = "is" if left == 1 else "are"
        out.print(f"about {plural(left, 'trial')} {are} left: loadstone run --resume {folder}", markup=False)
