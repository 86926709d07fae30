"""loadstone history: a study's results over runs, versions and commits"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.app import Json, Results, out, print_json, warn
from loadstone.experiments.durable import writing
from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError

EPILOG = (
    "Examples: [bold]loadstone history first-light[/], "
    "[bold]loadstone history first-light --store /srv/performance/history.parquet[/]"
)


def command(
    study: Annotated[str | None, typer.Argument(metavar="STUDY", help="A study's name; by default all.")] = None,
    store: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The store of results; by default history.parquet in --results."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page; by default beside the store.")
    ] = None,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Show capacity, P50 and P99 over all runs: changes with their probability, other machines; as a page too."""
    from loadstone.analysis.history import store as stores  # slow imports that the help does not need
    from loadstone.analysis.history.series import series
    from loadstone.report import history

    place = store or results / stores.FOLDER
    # The name of a study with parts stands for all of them.
    chosen = [each for each in stores.runs_in(results) if study in (None, *stores.names_of(each))]
    with writing(place):
        problems = stores.collect(chosen, place)
    rows, unread = stores.read(place)
    wanted = {study, *(stores.names_of(each)[0] for each in chosen)}
    found = series([row for row in rows if study is None or row.study in wanted])
    if not found:
        known = sorted({row.study for row in rows})
        what = f"no result of {study!r}" if study else "no result"
        raise InputError(f"{what} in {place} or {results}/" + (did_you_mean(study, known) if study and known else ""))
    page = output or place.with_name("history.html")
    with writing(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        history.page(found, [*problems, *unread], page)
    if json:
        print_json({"page": str(page), "series": [asdict(each) for each in found], "problems": [*problems, *unread]})
        return
    for text in [*problems, *unread]:
        warn(text)
    out.print(history.terminal(found))
    out.print(f"page: {page.resolve()}", markup=False)
