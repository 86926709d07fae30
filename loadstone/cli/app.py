"""The consoles, and the options that several verbs share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone.cli.console import LossyConsole, SafeConsole, drop_output

out = SafeConsole(highlight=False, emoji=False, soft_wrap=True)
"""Results: standard output."""
err = LossyConsole(stderr=True, highlight=False, emoji=False, soft_wrap=True)
"""Progress, warnings and errors: standard error, so that results can be piped. It never raises."""

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (YAML).", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.KEY=VALUE", help="Set or override a key of the study; repeatable."),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="paper|here",
        help="Of a study with scales: as published, or for one machine; by default here where nodes come from it.",
    ),
]
Part = Annotated[str | None, typer.Option("--part", metavar="NAME", help="Of a study with parts: which one.")]
Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="NAME", help="Of a study with parts: only this one; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", envvar="LOADSTONE_RESULTS", help="Where run folders are.")
]
Run = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="A run folder or a study's name; by default the newest run."),
]


def warn(text: str) -> None:
    """A warning, on standard error."""
    err.print("[yellow]warning:[/] ", end="")
    err.print(text, markup=False)


@contextmanager
def working(text: str) -> Iterator[None]:
    """States what takes a while: until its end in a terminal, as a line elsewhere; on standard error."""
    if err.is_terminal:
        with err.status(text, spinner="dots"):
            yield
    else:
        err.print(text, markup=False)
        yield


def print_json(value: Any) -> None:
    """Machine-readable output: nothing else goes to standard output then."""
    echo(json.dumps(value, indent=2) + "\n")


def echo(text: str) -> None:
    """Text as it is, on standard output. Dropped where its reader has ended; the exit code stays the command's."""
    try:
        typer.echo(text, nl=False)
    except BrokenPipeError:
        drop_output()
