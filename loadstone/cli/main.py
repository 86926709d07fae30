"""Registers the verbs and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.app import app, err
from loadstone.model.allowed import ALLOWED
from loadstone.model.errors import Interrupted, LoadstoneError

VERBS = (
    "validate",
    "plan",
    "doctor",
    "up",
    "down",
    "restore",
    "run",
    "load",
    "status",
    "report",
    "compare",
    "predict",
    "traces",
    "render",
    "export",
)
"""Modules of this package, in the order of the help."""


def register(arguments: list[str]) -> None:
    """Register the verb of ``arguments`` only, so that it does not wait for other verbs' imports; all for the help."""
    named = next((argument for argument in arguments if not argument.startswith("-")), "")
    app.registered_commands.clear()
    for verb in [named] if named in VERBS else VERBS:
        module = importlib.import_module(f"loadstone.cli.{verb}")
        app.command(verb, epilog=module.EPILOG)(module.command)


@app.callback()
def _verbs(
    allow_path: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            envvar=ALLOWED,
            help="Compose files may read files below this folder, not only below their own; repeatable.",
        ),
    ] = None,
) -> None:
    """What comes before the verb."""
    if allow_path:
        os.environ[ALLOWED] = os.pathsep.join(str(path.absolute()) for path in allow_path)


def run_command(arguments: list[str]) -> int:
    """Run one command; returns its exit code (DESIGN: 0, 1, 2, 3, 4, 5, 130)."""
    try:
        register(arguments)
        typer.main.get_command(app).main(arguments, prog_name="loadstone")
        return 0
    except SystemExit as ended:  # typer's own errors and --help
        return ended.code if isinstance(ended.code, int) else 0
    except Interrupted as error:
        err.print(str(error), style="yellow", markup=False)
        return error.exit_code
    except LoadstoneError as error:
        err.print("[bold red]error:[/] ", end="")
        err.print(str(error), markup=False)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        with tempfile.NamedTemporaryFile("w", prefix="loadstone-", suffix=".log", delete=False) as log:
            traceback.print_exc(file=log)
        err.print("[bold red]unexpected error:[/] ", end="")
        err.print(f"{type(error).__name__}: {error}", markup=False)
        err.print(f"  this is a defect of Loadstone; its details are in {log.name}", markup=False)
        return 1
