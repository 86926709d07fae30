"""The ledger: finished trials on disk, the only memory that a run has.

A trial's files are written to its own folder and synchronised, then ``trial.json`` is renamed into place, so a trial
either finished with all of its files or never was, also after a power loss. ``trials.parquet`` is made anew from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis.run import trial_files
from loadstone.analysis.schema import schema
from loadstone.experiments.durable import recording, sync, sync_tree, write_json
from loadstone.experiments.next_trial import Outcome
from loadstone.infrastructure import locks
from loadstone.model.errors import DeploymentError, InputError
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.trial import Phase, Trial

_READ_LOCK_S = 1.0
"""A program that reads whether a run is under way holds its lock for a moment, which is no reason to refuse the run."""


@dataclass(frozen=True)
class FinishedTrial:
    """A finished trial as the schedule sees it, in the order in which trials finished."""

    trial_id: str
    treatment_id: str
    repetition: int
    outcome: Outcome
    row: TrialRow


class Ledger:
    """The trials of one run folder."""

    def __init__(self, folder: Path, factors: list[str]) -> None:
        self.folder = folder
        self._factors = factors
        self.records = _records(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second process from running the same folder; what another finished before is read again."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locks.locked(self.folder / ".lock", _READ_LOCK_S))
            except DeploymentError as error:
                raise InputError(
                    f"{self.folder} is being run by another process, or is of another user: {error}"
                ) from None
            self.records = _records(self.folder)
            yield

    @property
    def last(self) -> int:
        """The order of the trial that finished last, also where one before it was moved away; 0 before any has."""
        return self.records[-1].row.order if self.records else 0

    def trial_folder(self, trial: Trial) -> Path:
        """The folder for a trial's files; made if need be."""
        folder = self.folder / "trials" / trial.id
        with recording(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def finish(self, trial: Trial, row: TrialRow, verdict: dict[str, Any]) -> FinishedTrial:
        """Write a trial down for good."""
        folder = self.trial_folder(trial)
        file = folder / "trial.json"
        with recording(folder):
            sync_tree(folder)
            sync(folder.parent)
        write_json(file, {"trial": trial.model_dump(mode="json"), "row": row.columns(), "verdict": verdict})
        record = _record(file)
        self.records.append(record)
        self._write_table()
        return record

    def _write_table(self) -> None:
        table = pa.Table.from_pylist([record.row.columns() for record in self.records], schema=schema(self._factors))
        target = self.folder / "trials.parquet"
        temporary = self.folder / ".trials.parquet.tmp"
        with recording(target):
            try:
                pq.write_table(table, temporary)
                sync(temporary)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)


def _records(folder: Path) -> list[FinishedTrial]:
    """The finished trials of a run folder, in the order in which they finished."""
    found = [_record(file) for file in (folder / "trials").glob("*/trial.json")]
    return sorted(found, key=lambda record: record.row.order)


def _record(file: Path) -> FinishedTrial:
    row, problem = trial_files.row(file.parent)
    if row is None:
        raise InputError(f"{file} is damaged ({problem}); move its folder away to have the trial run again")
    phase = cast(Phase, row.phase)
    outcome = Outcome(row.rate, phase, row.verdict, row.cpu_capacity, row.reference_during_ms, row.steal_share)
    return FinishedTrial(row.trial_id, row.treatment_id, row.repetition, outcome, row)
