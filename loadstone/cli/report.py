"""loadstone report: figures, tables and the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.app import Json, Results, Run, out, print_json, working
from loadstone.experiments.durable import writing

EPILOG = "Examples: [bold]loadstone report[/], [bold]loadstone report first-light --figure-width 3.33in[/]"


Width = Annotated[
    str | None,
    typer.Option("--figure-width", metavar="LENGTH", help="Of each figure, such as 3.33in or 84mm; by default 5.8in."),
]
Font = Annotated[
    str | None, typer.Option("--font", metavar="NAME", help="Of the figures; one that is installed on this machine.")
]


def command(
    run: Run = None,
    results: Results = Path("results"),
    figure_width: Width = None,
    font: Font = None,
    json: Json = False,
) -> None:
    """Write a run's report anew from its results; the run need not be complete."""
    from loadstone.experiments import runs  # slow imports that --help does not need
    from loadstone.report import page, parts_page, terminal
    from loadstone.report.figures import look

    chosen = look.chosen(figure_width, font)
    folder = runs.locate(results, run)
    there = runs.parts_of(folder)
    with writing(folder), working("writing the report"):
        built = [page.build(each, chosen) for each in there]
        index = built[0] if there == [folder] else parts_page.build(folder)
    if json:
        print_json({"run": str(folder), "report": str(index)})
        return
    for each in there:
        out.print(terminal.render(each))
    out.print(f"report: {index}", markup=False)
