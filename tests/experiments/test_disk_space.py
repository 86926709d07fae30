"""The disk of results: warned of early, and a clear end before a trial that would not fit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from loadstone.experiments.disk_space import LEAST, DiskSpace
from loadstone.experiments.listener import Listener
from loadstone.model.errors import DiskError

TRIAL = 1 << 20


class Usage(NamedTuple):
    """As of ``shutil.disk_usage``."""

    free: int


class Notes(Listener):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run folder with one trial of a megabyte, on a disk with ``free`` bytes; returns its room and its notes."""
    (tmp_path / "trials").mkdir()

    def make(free: int, trials: int = 1) -> tuple[DiskSpace, Notes]:
        for number in range(trials):
            (tmp_path / "trials" / str(number)).mkdir()
            (tmp_path / "trials" / str(number) / "spans.parquet").write_bytes(b"x" * TRIAL)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free))
        notes = Notes()
        return DiskSpace(tmp_path, notes), notes

    return make


def test_a_trial_that_would_not_fit_is_not_begun(run: Any) -> None:
    room, _ = run(free=TRIAL)
    with pytest.raises(DiskError, match=r"no room for another trial in .*: 1\.0 MB are free(.|\n)*--resume"):
        room.require(5)


def test_a_study_that_may_not_fit_is_warned_of_once(run: Any) -> None:
    room, notes = run(free=4 * TRIAL)
    room.require(3)
    assert notes.notes == []
    for _ in range(2):
        room.require(100)
    [note] = notes.notes
    assert "4.2 MB free" in note and "may need 105 MB" in note


def test_before_anything_is_known_little_room_is_warned_of(run: Any) -> None:
    room, notes = run(free=LEAST - 1, trials=0)
    room.require(100)
    assert len(notes.notes) == 1
