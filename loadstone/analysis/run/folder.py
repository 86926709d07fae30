"""Opens a run folder: the one place of the analysis that reads files; all else takes the tables that this returns.

A run is often looked at while it is still going or after it was killed, so nothing that is missing or damaged is an
error here: it becomes a warning, and the rest is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import yaml
from pydantic import ValidationError

from loadstone.analysis import bundle_check
from loadstone.analysis.run import documents, trial_files
from loadstone.analysis.schema import factors_of, schema
from loadstone.model.columns import columns, of_window
from loadstone.model.errors import InputError
from loadstone.model.records import AuditRow, Check, Observed, Reading, TrialSummary
from loadstone.model.slo import Slo

VERDICTS = ("held", "not held", "measured", "invalid")
_RUN_FILES = ("plan.json", "study.yaml", "trials.parquet", "trials")


@dataclass(frozen=True)
class RunFolder:
    """One run of a study. ``trials`` has the columns of ``model/columns.py``, in the order they were run."""

    folder: Path
    study: dict[str, Any]
    """The study as resolved (``plan.json``), else as given."""
    plan: dict[str, Any]
    provenance: dict[str, Any]
    trials: pa.Table
    warnings: tuple[str, ...]

    @property
    def name(self) -> str:
        """The study's name; that of the folder above the run where no study file has it."""
        return str(self.study.get("name") or self.folder.resolve().parent.name)

    @property
    def objective(self) -> Slo | None:
        """The SLO that trials were judged by, if the study names one that can be read."""
        load = self.study.get("load") or {}
        written = (load.get("capacity") or {}).get("slo") or load.get("slo")
        try:
            return Slo.model_validate(written) if written else None
        except ValidationError:
            return None

    @property
    def searches(self) -> bool:
        """Whether the study searches the breaking point rather than using fixed rates."""
        return bool((self.study.get("load") or {}).get("capacity"))

    @property
    def closed(self) -> bool:
        """Whether clients waited for answers before they sent again: there was no offered load then."""
        return bool((self.study.get("load") or {}).get("closed"))

    def summary(self, trial_id: str) -> TrialSummary | None:
        """What the generator measured; None where its file is missing or damaged, as with all that follow."""
        found: TrialSummary | None = self._read(trial_id, "summary.json")
        return found

    def audit(self, trial_id: str) -> tuple[AuditRow, ...] | None:
        """The limits that were in force."""
        found: tuple[AuditRow, ...] | None = self._read(trial_id, "audit.json")
        return found

    def checks(self, trial_id: str) -> tuple[Check, ...] | None:
        """What the stores held afterwards."""
        found: tuple[Check, ...] | None = self._read(trial_id, "checks.json")
        return found

    def readings(self, trial_id: str) -> tuple[Reading, ...] | None:
        """What each replica used in the measured window."""
        found: tuple[Reading, ...] | None = self._read(trial_id, "usage.json")
        return found

    def observed(self, trial_id: str) -> Observed | None:
        """What was recorded beside the load."""
        found: Observed | None = self._read(trial_id, "observed.json")
        return found

    def window_ns(self, trial_id: str) -> tuple[int | None, int | None]:
        """The measured window in unix time; None and None where it is not known."""
        observed = self.observed(trial_id)
        window = observed.window if observed is not None else None
        return (window.from_ns, window.to_ns) if window is not None else (None, None)

    def _read(self, trial_id: str, file: str) -> Any:
        return trial_files.read(self.folder / "trials" / trial_id, file)[0]


def find_run(path: Path) -> Path:
    """The run folder at ``path``: itself, or the newest run in the folder of a study.

    Raises InputError where there is none.
    """
    if not path.is_dir():
        raise InputError(f"{path}: there is no such folder; give a run (results/<study>/<time>) or a study's results")
    if _is_run(path):
        return path
    inside = sorted(child for child in path.iterdir() if child.is_dir())
    if runs := [child for child in inside if _is_run(child)]:
        return runs[-1]
    if studies := [child.name for child in inside if any(_is_run(run) for run in child.iterdir() if run.is_dir())]:
        raise InputError(f"{path}: holds the results of several studies; give one of them: {', '.join(studies)}")
    raise InputError(f"{path}: holds no run; a run has a study.yaml, a plan.json and a folder trials")


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in _RUN_FILES)


def open_run(path: Path) -> RunFolder:
    """Read the run at ``path`` (see ``find_run``). Raises InputError where there is none; all else is a warning."""
    folder = find_run(path)
    warnings: list[str] = []
    plan = _mapping(*_json(folder / "plan.json"), "plan.json", warnings)
    provenance = _mapping(*_json(folder / "provenance.json"), "provenance.json", warnings)
    study = plan.get("study")
    if study is None:
        study = _mapping(*_yaml(folder / "study.yaml"), "study.yaml", warnings)
    if (folder / "outcome.json").exists():  # there is none before a run has ended
        outcome = _mapping(*_json(folder / "outcome.json"), "outcome.json", warnings)
        warnings.extend(map(str, outcome.get("failures") or []))
    trials = _trials(folder, warnings)
    warnings.extend(bundle_check.warnings(folder))
    return RunFolder(folder, study, plan, provenance, trials, tuple(warnings))


def _json(file: Path) -> tuple[Any, str]:
    """The content, or None and what is wrong."""
    try:
        return json.loads(file.read_text()), ""
    except FileNotFoundError:
        return None, "is missing"
    except (OSError, ValueError) as error:
        return None, f"cannot be read: {error}"


def _yaml(file: Path) -> tuple[Any, str]:
    try:
        return yaml.safe_load(file.read_text()), ""
    except FileNotFoundError:
        return None, "is missing"
    except (OSError, ValueError, yaml.YAMLError) as error:
        return None, f"cannot be read: {' '.join(str(error).split())}"


def _mapping(content: Any, problem: str, name: str, warnings: list[str]) -> dict[str, Any]:
    if isinstance(content, dict):
        return documents.usable(name, content, warnings)
    warnings.append(f"{name} {problem or 'is not a mapping'}")
    return {}


def _trials(folder: Path, warnings: list[str]) -> pa.Table:
    """``trials.parquet`` where it is as new as every trial and has them all, else the trials' own files."""
    files = sorted(folder.glob("trials/*/trial.json"))
    table, problem = _parquet(folder / "trials.parquet")
    if table is not None and files:
        newest = max(file.stat().st_mtime for file in files)
        if (folder / "trials.parquet").stat().st_mtime < newest:
            problem = "is older than some trial"
        elif set(table["trial_id"].to_pylist()) != {file.parent.name for file in files}:
            problem = "does not have the trials of the folder"
    if table is None or problem:
        own = _from_files(files, warnings)
        # A copied run has the dates of its copying, so an older file may still be current.
        if problem != "is missing" and (table is None or not _in_order(table).equals(_in_order(own))):
            warnings.append(f"trials.parquet {problem}: the trials' own files were read instead")
        table = own
    unfinished = [path.name for path in sorted(folder.glob("trials/*/")) if not (path / "trial.json").exists()]
    if unfinished:
        warnings.append(f"no verdict yet, or interrupted: {_listed('trial', unfinished)}")
    warnings.extend(_damaged(folder, table))
    return _of_windows(_in_order(table))


def _of_windows(table: pa.Table) -> pa.Table:
    """Releases up to 0.1 wrote numbers of trials that were stopped early: they are left out here, once for all."""
    if table["aborted_at_s"].null_count == table.num_rows:
        return table
    return pa.Table.from_pylist([of_window(row) for row in table.to_pylist()], schema=table.schema)


def _in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("order", "ascending"), ("started", "ascending")])


def _damaged(folder: Path, table: pa.Table) -> Iterator[str]:
    """Trials whose own files cannot be used: their row counts, their details are not shown."""
    if table.num_rows and not (folder / "trials").is_dir():
        yield "there is no folder trials: spectrum, operations, CPU and audits cannot be shown"
        return
    found = []
    for row in table.select(["trial_id", "offered", "aborted_at_s"]).to_pylist():
        measured = row["offered"] is not None or row["aborted_at_s"] is not None
        wrong = trial_files.problems(folder / "trials" / row["trial_id"], measured)
        found += [f"{row['trial_id']} {problem}" for problem in wrong]
    if found:
        yield f"not shown, as files are damaged: {_listed('file', found)}"


def _parquet(file: Path) -> tuple[pa.Table | None, str]:
    if not file.exists():
        return None, "is missing"
    try:
        found = pa.parquet.read_table(file)
        wanted = schema(factors_of(found.column_names))
        absent = [field for field in wanted if field.name not in found.column_names]
        problem = f"lacks the columns {', '.join(field.name for field in absent)}" if absent else ""
        if not all(field.nullable for field in absent):
            return None, problem
        for field in absent:  # an earlier release may not have known them
            found = found.append_column(field, pa.nulls(found.num_rows, field.type))
        return found.select(wanted.names).cast(wanted), problem
    except (pa.ArrowException, OSError, ValueError) as error:
        return None, f"cannot be read: {str(error).splitlines()[0]}"


def _from_files(files: Iterable[Path], warnings: list[str]) -> pa.Table:
    rows, damaged = [], []
    for file in files:
        content, problem = _json(file)
        row = content.get("row") if isinstance(content, dict) else None
        if not isinstance(row, dict):
            damaged.append(f"{file.parent.name} ({problem or 'no row'})")
        elif problem := _row_problem(row):
            damaged.append(f"{file.parent.name} ({problem})")
        else:
            rows.append(row)
    if damaged:
        warnings.append(f"left out, their trial.json is damaged: {_listed('trial', damaged)}")
    factors = dict.fromkeys(name for row in rows for name in factors_of(row))
    return pa.Table.from_pylist(rows, schema=schema(factors))


_FITS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
    "number": lambda value: isinstance(value, float) or _FITS["integer"](value),
    "boolean": lambda value: isinstance(value, bool),
    "list of texts": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
}


def _row_problem(row: dict[str, Any]) -> str:
    for column in columns(factors_of(row)):
        value = row.get(column.name)
        if value is None and not column.optional:
            return f"no {column.name}"
        if value is not None and not _FITS[column.type](value):
            return f"{column.name} is {value!r:.40}"
    if row["verdict"] not in VERDICTS:
        return f"verdict is {row['verdict']!r}"
    if not (math.isfinite(row["rate"]) and row["rate"] >= 0):
        return f"rate is {row['rate']!r}"
    return ""


def _listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{len(names)} {noun}{'s' if len(names) != 1 else ''}: {shown}"
