"""Opens a run folder: the one place of the analysis that reads files; all else takes the tables that this returns.

A run is often looked at while it is still going or after it was killed, so nothing that is missing or damaged is an
error here: it becomes a warning, and the rest is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, get_args

import pyarrow as pa
import pyarrow.parquet
from pydantic import ValidationError

from loadstone.analysis import bundle_check
from loadstone.analysis.run import documents, trial_files
from loadstone.analysis.schema import factors_of, schema
from loadstone.model import parts
from loadstone.model.base import abridged, plural
from loadstone.model.columns import columns
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.records.audit import AuditRow, Check
from loadstone.model.records.interference import Disturbance
from loadstone.model.records.iteration import Iteration
from loadstone.model.records.observed import Observed
from loadstone.model.records.reading import Reading
from loadstone.model.records.run_files import OutcomeFile, PartsFile, PlanFile, Provenance, RunFile, StudyFile
from loadstone.model.records.summary import TrialSummary
from loadstone.model.records.trial_row import TrialRow, TrialVerdict
from loadstone.model.slo import Slo

VERDICTS: tuple[TrialVerdict, ...] = get_args(TrialVerdict)
_RUN_FILES = ("plan.json", "study.yaml", "trials.parquet", "trials")
_File = TypeVar("_File", bound=RunFile)


@dataclass(frozen=True)
class RunFolder:
    """One run of a study, its trials in the order they were run."""

    folder: Path
    study: StudyFile
    """As resolved (``plan.json``), else as given."""
    plan: PlanFile
    provenance: Provenance
    trials: tuple[TrialRow, ...]
    warnings: tuple[str, ...]

    @cached_property
    def table(self) -> pa.Table:
        """The trials with the columns of ``trials.parquet``."""
        factors = dict.fromkeys(name for row in self.trials for name in row.factors)
        return pa.Table.from_pylist([row.columns() for row in self.trials], schema=schema(factors))

    @property
    def name(self) -> str:
        """The study's name; that of the folder above the run where no study file has it."""
        return self.study.name or self.folder.resolve().parent.name

    @property
    def application(self) -> str | None:
        """The application's name, or the names where that is varied; None where it is not known."""
        varied = dict.fromkeys(name for each in self.plan.treatments if (name := each.application))
        given = " or ".join(varied) or self.plan.application.name or self.study.application
        return str(given) if given else None

    def study_of(self, treatment_id: str) -> StudyFile:
        """The study with what factors set of a treatment's load, trials and cluster."""
        return self.plan.study_of(treatment_id) or self.study

    @property
    def objective(self) -> Slo | None:
        """The SLO that trials were judged by, if the study names one that can be read."""
        try:
            return Slo.model_validate(written) if (written := self.study.load.objective) else None
        except ValidationError:
            return None

    @property
    def searches(self) -> bool:
        """Whether the study searches the breaking point rather than using fixed rates."""
        return self.study.load.capacity is not None

    @property
    def closed(self) -> bool:
        """Whether clients waited for answers before they sent again: there was no offered load then."""
        return self.study.load.closed is not None

    @property
    def emulated(self) -> bool:
        """Whether nodes of some trial shared the cores of one machine."""
        return any(row.emulated for row in self.trials)

    def summary(self, trial_id: str) -> TrialSummary | None:
        """What the generator observed; None where its file is missing or damaged, as with all that follow."""
        found: TrialSummary | None = self._read(trial_id, "summary.json")
        return found.observed() if found is not None else None

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

    def disturbance(self, trial_id: str) -> Disturbance | None:
        """What disturbed the application, and what that used itself; None of an undisturbed trial too."""
        found: Disturbance | None = self._read(trial_id, "interference.json")
        return found

    def iterations(self, trial_id: str) -> tuple[Iteration, ...] | None:
        """What each client took for each number of requests; None of a trial that did not end by a number."""
        found: tuple[Iteration, ...] | None = self._read(trial_id, "iterations.parquet")
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


def read_parts(folder: Path) -> PartsFile:
    """What ``parts.json`` of a folder has. Raises InputError where it is missing, damaged or lists no parts."""
    file = folder / parts.FILE
    content, problem = _json(file)
    try:
        return PartsFile.model_validate(content)
    except ValidationError:
        raise InputError(f"{file} {problem or 'lists no parts'}; restore it from a copy of the run") from None


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in _RUN_FILES)


def open_run(path: Path) -> RunFolder:
    """Read the run at ``path`` (see ``find_run``). Raises InputError where there is none; all else is a warning."""
    folder = find_run(path)
    warnings: list[str] = []
    plan = _document(PlanFile, folder / "plan.json", _json, warnings)
    provenance = _document(Provenance, folder / "provenance.json", _json, warnings)
    study = plan.study
    if study is None:
        study = _document(StudyFile, folder / "study.yaml", _yaml, warnings)
    if (folder / "outcome.json").exists():  # there is none before a run has ended
        warnings.extend(map(str, _document(OutcomeFile, folder / "outcome.json", _json, warnings).failures))
    trials = _trials(folder, warnings)
    warnings.extend(bundle_check.warnings(folder))
    return RunFolder(folder, study, plan, provenance, trials, tuple(warnings))


def _document(kind: type[_File], file: Path, read: Callable[[Path], tuple[Any, str]], warnings: list[str]) -> _File:
    content, problem = read(file)
    if isinstance(content, dict):
        return documents.usable(kind, file.name, content, warnings)
    warnings.append(f"{file.name} {problem or 'is not a mapping'}")
    return kind()


def _json(file: Path) -> tuple[Any, str]:
    """The content, or None and what is wrong."""
    try:
        return json.loads(file.read_text()), ""
    except FileNotFoundError:
        return None, "is missing"
    except (OSError, ValueError, RecursionError) as error:
        return None, f"cannot be read: {error}"


def _yaml(file: Path) -> tuple[Any, str]:
    try:
        return Document(file.read_text(encoding="utf-8"), file.name).data, ""
    except FileNotFoundError:
        return None, "is missing"
    except (OSError, ValueError, InputError) as error:
        return None, f"cannot be read: {' '.join(str(error).split())}"


def _trials(folder: Path, warnings: list[str]) -> tuple[TrialRow, ...]:
    """``trials.parquet`` where it is as new as every trial and has them all, else the trials' own files."""
    files = sorted(folder.glob("trials/*/trial.json"))
    rows, problem = _parquet(folder / "trials.parquet")
    if rows is not None and files:
        newest = max(file.stat().st_mtime for file in files)
        if (folder / "trials.parquet").stat().st_mtime < newest:
            problem = "is older than some trial"
        elif {row.trial_id for row in rows} != {file.parent.name for file in files}:
            problem = "does not have the trials of the folder"
    if rows is None or problem:
        own = _from_files(files, warnings)
        # A copied run has the dates of its copying, so an older file may still be current.
        if problem != "is missing" and rows != own:
            warnings.append(f"trials.parquet {problem}: the trials' own files were read instead")
        rows = own
    unfinished = [path.name for path in sorted(folder.glob("trials/*/")) if not (path / "trial.json").exists()]
    if unfinished:
        warnings.append(f"no verdict yet, or interrupted: {_listed('trial', unfinished)}")
    warnings.extend(_damaged(folder, rows))
    return tuple(rows)


def _in_order(rows: Iterable[TrialRow]) -> list[TrialRow]:
    return sorted(rows, key=lambda row: (row.order, row.started))


def _damaged(folder: Path, rows: list[TrialRow]) -> Iterator[str]:
    """Trials whose own files cannot be used: their row counts, their details are not shown."""
    if rows and not (folder / "trials").is_dir():
        yield "there is no folder trials: spectrum, operations, CPU and audits cannot be shown"
        return
    found = []
    for row in rows:
        wrong = trial_files.problems(folder / "trials" / row.trial_id, row.offered is not None or row.stopped)
        found += [f"{row.trial_id} {problem}" for problem in wrong]
    if found:
        yield f"not shown, as files are damaged: {_listed('file', found)}"


def _parquet(file: Path) -> tuple[list[TrialRow] | None, str]:
    """The rows in order, or None, and what is wrong; an earlier release may not have known all columns."""
    if not file.exists():
        return None, "is missing"
    try:
        found = pa.parquet.read_table(file)
        known = columns(factors_of(found.column_names))
        absent = [column.name for column in known if column.name not in found.column_names]
        rows = _in_order(map(TrialRow.model_validate, found.to_pylist()))
        return rows, f"lacks the columns {', '.join(absent)}" if absent else ""
    except ValidationError as error:
        return None, f"cannot be read: {trial_files.problem_of(error)}"
    except (pa.ArrowException, OSError, ValueError) as error:
        return None, f"cannot be read: {str(error).splitlines()[0]}"


def _from_files(files: Iterable[Path], warnings: list[str]) -> list[TrialRow]:
    rows, damaged = [], []
    for file in files:
        row, problem = trial_files.row(file.parent)
        if row is not None:
            rows.append(row)
        else:
            damaged.append(f"{file.parent.name} ({problem})")
    if damaged:
        warnings.append(f"left out, their trial.json is damaged: {_listed('trial', damaged)}")
    return _in_order(rows)


def _listed(noun: str, names: list[str]) -> str:
    return f"{plural(len(names), noun)}: {abridged(names, 5)}"
