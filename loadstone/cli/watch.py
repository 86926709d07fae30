"""loadstone watch: the report of a run in a browser, while it runs"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from loadstone.cli.app import Results, Run, err, out
from loadstone.experiments import runs
from loadstone.experiments.durable import is_running
from loadstone.experiments.interruption import interruptible
from loadstone.model.errors import InputError, Interrupted

EPILOG = "Examples: [bold]loadstone watch[/], [bold]loadstone watch first-light[/]"


def command(run: Run = None, results: Results = Path("results")) -> None:
    """Show the report of a run in a browser while it runs; ends with the run, or with Ctrl-C.

    The page is on this machine's loopback alone. It is written when the processors have nothing else to do.
    """
    folder = runs.locate_one(results, run)
    if not is_running(folder):
        raise InputError(f"{folder} is not being run; `loadstone report {folder}` writes its report")
    from loadstone.report import live  # a slow import that --help does not need

    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # measurements come first
    try:
        with interruptible(), live.serving(folder) as (page, url):
            out.print(f"watch: {url}", markup=False)
            page.follow(lambda: is_running(folder))
    except Interrupted:
        return
    err.print(f"watch: the run has ended: {folder}", markup=False)


def start(folder: Path) -> None:
    """Watch a run of this process in another one, which ends when the run does, whatever ends it."""
    program = "from loadstone.cli.entry import main; main()"
    subprocess.Popen([sys.executable, "-c", program, "watch", str(folder)], stdout=sys.stderr)
