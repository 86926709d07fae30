"""The files in a trial's folder, as far as the analysis reads them; one that does not have its shape is damaged."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pydantic import TypeAdapter, ValidationError

from loadstone.model.records.audit import AuditRow, Check
from loadstone.model.records.base import Record
from loadstone.model.records.interference import Disturbance
from loadstone.model.records.iteration import Iteration
from loadstone.model.records.observed import Observed
from loadstone.model.records.reading import Reading
from loadstone.model.records.summary import TrialSummary
from loadstone.model.records.trial_row import TrialRow

_SHAPES: dict[str, TypeAdapter[Any]] = {
    "summary.json": TypeAdapter(TrialSummary),
    "audit.json": TypeAdapter(tuple[AuditRow, ...]),
    "checks.json": TypeAdapter(tuple[Check, ...]),
    "usage.json": TypeAdapter(tuple[Reading, ...]),
    "observed.json": TypeAdapter(Observed),
    "interference.json": TypeAdapter(Disturbance),
    "iterations.parquet": TypeAdapter(tuple[Iteration, ...]),
}


class _TrialFile(Record):
    """``trial.json``, of which only this is read: the rest is the trial and its verdict in full."""

    row: TrialRow


_KEPT = 8192
"""Files that are kept as they were read: several parts of a report look into each."""


def read(folder: Path, name: str) -> tuple[Any, str]:
    """The content of a trial's file, or None and what is wrong with it; a file that is not there is not wrong.

    It is read and checked once for as long as it stays as it is.
    """
    file = folder / name
    try:
        stat = file.stat()
        return _read(str(file), name, stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError) as error:
        return None, str(error)


@lru_cache(maxsize=_KEPT)
def _read(file: str, name: str, changed_ns: int, size: int) -> tuple[Any, str]:
    """``changed_ns`` and ``size`` reveal that a cached file was replaced."""
    try:
        if name.endswith(".parquet"):
            return _SHAPES[name].validate_python(pa.parquet.read_table(file).to_pylist()), ""
        return _SHAPES[name].validate_json(Path(file).read_bytes()), ""
    except ValidationError as error:
        return None, problem_of(error)
    except (OSError, pa.ArrowException) as error:
        return None, str(error)


def row(folder: Path) -> tuple[TrialRow | None, str]:
    """The row of a trial that finished, or None and what is wrong with its ``trial.json``."""
    try:
        return _TrialFile.model_validate_json((folder / "trial.json").read_bytes()).row, ""
    except ValidationError as error:
        damaged = error.errors()[0]["loc"] == ()
        return None, f"cannot be read: {problem_of(error)}" if damaged else problem_of(error)
    except OSError as error:
        return None, f"cannot be read: {error}"


def problem_of(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if place == "schema":
        return f"schema {first['input']!r} is not of this version of Loadstone, which knows {first['ctx']['expected']}"
    return f"{place}: {first['msg']}" if place else first["msg"]


def problems(folder: Path, measured: bool) -> list[str]:
    """What is wrong with the files of one trial; one that measured something must have a summary."""
    if measured and not (folder / "summary.json").exists():
        return ["summary.json is missing"]
    return [f"{name} ({problem})" for name in _SHAPES if (problem := read(folder, name)[1])]
