"""Registers the verbs and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import os
import tempfile
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

import loadstone
from loadstone.cli import arguments
from loadstone.cli.app import err, out
from loadstone.cli.console import drop_output
from loadstone.model.allowed import ALLOWED
from loadstone.model.errors import Interrupted, LoadstoneError, disk_error

VERBS = {
    "init": "Write a study of an application, ready to run.",
    "validate": "Check a file and all that it refers to.",
    "plan": "Show the treatments and trials of a study.",
    "doctor": "Check that this machine has what a study needs.",
    "prepare": "Install and set what studies need on hosts; --undo takes it back.",
    "up": "Deploy an application and leave it running.",
    "down": "Stop and remove deployments, also those that a killed run left behind.",
    "restore": "Put back the host settings that a study changed and did not restore.",
    "run": "Deploy, load, find the breaking point, write the report.",
    "load": "Load any HTTP service, open loop: latency from the intended send time.",
    "status": "Show running deployments and the progress of a run.",
    "watch": "Show the report of a run in a browser while it runs.",
    "report": "Write a run's report anew from its results.",
    "compare": "Compare treatments of a run, or two runs: ratios, intervals, verdicts.",
    "history": "Show a study's results over runs, versions and commits, and what changed.",
    "predict": "Predict capacities from a run's CPU per request.",
    "traces": "Show where the time of requests went, from their spans.",
    "render": "Render the files that `up` would deploy.",
    "export": "Pack a run's study, dataset, figures and report into one archive.",
}
"""Modules of this package with what they do, in the order of the help, which imports none of them."""


class Verb(TyperCommand):
    """Its help names no types of Python: flags have no value to write, and names of arguments say what they are."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # while completing, a value may be incomplete
            return super().parse_args(ctx, args)
        if "" in args or any(each.endswith("=") for each in args):
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            arguments.refuse_empty(self.get_params(ctx), given)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            raise arguments.explained(error) or error from None


class Verbs(TyperGroup):
    """Imports a verb's module when it is run or its options are completed; the list of verbs needs no module."""

    def get_params(self, ctx: Any) -> Any:
        return _without_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, verb(name) if name in VERBS else None, rest  # while completing, a name may be wrong


def _without_types(parameters: Any) -> Any:
    flags = [each for each in parameters if isinstance(each, TyperOption) and each.is_flag]
    arguments: list[Any] = [each for each in parameters if isinstance(each, TyperArgument)]
    for flag in flags:
        flag.metavar = ""
    for argument in arguments:
        argument.display_type_rich = lambda ctx: None
    return parameters


app = typer.Typer(
    name="loadstone",
    cls=Verbs,
    help="A testbed for microservice performance: deploy, load, find the breaking point, report.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _summary in VERBS.items():
    app.command(_name, help=_summary)(lambda: None)


def verb(name: str) -> Any:
    """The command of a verb's module."""
    module = importlib.import_module(f"loadstone.cli.{name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(name, cls=Verb, epilog=module.EPILOG)(module.command)
    return typer.main.get_command(alone)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"loadstone {loadstone.__version__}")
        raise typer.Exit


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
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What comes before the verb."""
    if allow_path:
        os.environ[ALLOWED] = os.pathsep.join(str(path.absolute()) for path in allow_path)


def run_command(arguments: list[str]) -> int:
    """Run one command; returns its exit code (DESIGN: 0, 1, 2, 3, 4, 5, 130)."""
    try:
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
        drop_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and (full := disk_error(error.filename or "the output", error)):
            err.print("[bold red]error:[/] ", end="")
            err.print(str(full), markup=False)
            return full.exit_code
        if interruption := _interruption(error):
            err.print(interruption, style="yellow", markup=False)
            return Interrupted.exit_code
        err.print("[bold red]unexpected error:[/] ", end="")
        err.print(f"{type(error).__name__}: {error}", markup=False)
        err.print(f"  this is a defect of Loadstone; its details are in {_details()}", markup=False)
        return 1


def _interruption(error: Exception) -> str:
    """What ended the building of a model, where pydantic made a SchemaError of a Ctrl-C; empty for other errors."""
    from pydantic_core import SchemaError  # with what most verbs need, and no --help

    if not isinstance(error, SchemaError):
        return ""
    kind, _, text = str(error).strip().splitlines()[-1].strip().partition(":")
    return (text.strip() or "Aborted.") if kind in (KeyboardInterrupt.__name__, Interrupted.__name__) else ""


def _details() -> str:
    """A file with where the current exception was raised."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="loadstone-", suffix=".log", delete=False) as log:
            traceback.print_exc(file=log)
        return log.name
    except OSError as error:
        return f"no file: {error}"
