"""loadstone export: pack a run into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.app import Json, Results, Run, out, print_json
from loadstone.experiments import runs
from loadstone.experiments.durable import writing

EPILOG = "Example: [bold]loadstone export first-light -o first-light.zip --licence CC-BY-4.0 --author 'Ada Lovelace'[/]"


def command(
    run: Run = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write (.zip or .tar.gz).")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(metavar="ID", help="Licence of the data: an SPDX identifier or an address.")
    ] = None,
    author: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Author of the data; may be repeated.")
    ] = None,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Pack a run's study, dataset, figures and report into one archive (an RO-Crate)."""
    from loadstone.report import bundle, format  # a slow import that --help does not need

    folder = runs.locate_one(results, run)
    target = output or Path(f"{folder.parent.name}-{folder.name}.zip")
    with writing(target):
        written = bundle.export(folder, target, licence, author or ())
    if json:
        print_json({"run": str(folder), "archive": str(written), "bytes": written.stat().st_size})
        return
    out.print(f"{written} ({format.size(written.stat().st_size)})", markup=False)
