"""The store of results: a folder of parquet, a small file for each run.

Any reader of parquet reads the folder as one table; a file of another machine is added by copying it into the folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis.history.rows import HistoryRow, dated, file_name, of_run
from loadstone.analysis.run import open_run
from loadstone.analysis.schema import rows, schema_of, table
from loadstone.model.errors import InputError

FOLDER = "history.parquet"
"""Beside the folders of studies in ``results/``."""


def beside(folder: Path) -> Path:
    """The store of the results that a run folder is among."""
    return dated(folder).parent.parent / FOLDER


def runs_in(results: Path) -> list[Path]:
    """The run folders of all studies below ``results``, and those of the parts of studies that have them."""
    whole = [file.parent for file in sorted(results.glob("*/*/plan.json"))]
    inside = [file.parent for file in sorted(results.glob("*/*/*/plan.json"))]
    return [*whole, *(folder for folder in inside if dated(folder) != folder)]


def names_of(folder: Path) -> tuple[str, str]:
    """The study that a run folder's results are filed under, and the one whose folder it is in: that of a part's."""
    study = dated(folder).parent.name
    return (study if dated(folder) == folder else f"{study}-{folder.name}"), study


def add(folder: Path, store: Path) -> Path | None:
    """Write the rows of a run folder into the store, in place of what was there of it; None where it has none."""
    run = open_run(folder)
    found = of_run(run)
    if not found:
        return None
    store.mkdir(parents=True, exist_ok=True)
    file = store / file_name(run)
    making = file.with_suffix(".making")
    pq.write_table(table(HistoryRow, found), making)
    os.replace(making, file)
    # As old as the results that it is made from: it is written again only where these have changed.
    changed = _changed(folder)
    os.utime(file, ns=(changed, changed))
    return file


def collect(folders: Sequence[Path], store: Path) -> list[str]:
    """Add the run folders that the store lacks, or has of an earlier time; returns what could not be read."""
    there = {(file.name.rsplit("-", 1)[0], file.stat().st_mtime_ns) for file in store.glob("*.parquet")}
    problems = []
    for folder in folders:
        if (f"{names_of(folder)[0]}-{dated(folder).name}", _changed(folder)) in there:
            continue
        try:
            add(folder, store)
        except InputError as error:
            problems.append(str(error))
    return problems


def read(store: Path, study: str | None = None) -> tuple[list[HistoryRow], list[str]]:
    """The rows of a study (of all studies by default), the oldest first, and the files that could not be read."""
    found: list[HistoryRow] = []
    problems = []
    for file in sorted(store.glob("*.parquet")):
        try:
            found += rows(HistoryRow, pq.read_table(file, schema=schema_of(HistoryRow)))
        except (pa.ArrowException, OSError, KeyError) as error:
            problems.append(f"{file}: cannot be read: {str(error).splitlines()[0]}")
    some = [row for row in found if study in (None, row.study)]
    return sorted(some, key=lambda row: (row.started, row.run)), problems


def _changed(folder: Path) -> int:
    """When the trials of a run last changed."""
    file = folder / "trials.parquet"
    return (file if file.exists() else folder).stat().st_mtime_ns
