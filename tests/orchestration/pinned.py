"""Rendered files that are kept beside the tests, so that a review shows every change of them."""

from __future__ import annotations

import difflib
import os
import shutil
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "UPDATE_GOLDEN"
"""Set to 1, it writes the files anew: ``UPDATE_GOLDEN=1 pytest tests/orchestration``; then look at `git diff`."""


def compare(folder: str, files: dict[str, str]) -> None:
    """Fail unless the files are those of the folder below ``golden``, no more and no less."""
    place = GOLDEN / folder
    if os.environ.get(UPDATE) == "1":
        shutil.rmtree(place, ignore_errors=True)
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
    kept = _read(place)
    assert sorted(kept) == sorted(files), f"{UPDATE}=1 writes them anew"
    for name, text in files.items():
        assert text == kept[name], f"{place / name}: {UPDATE}=1 writes it anew"
    if os.environ.get(UPDATE) == "1":
        pytest.skip(f"{place} is written")


def compare_scaling(orchestrator: str, scaling: str, files: dict[str, str]) -> None:
    """``compare`` for Hotel Reservation: the baseline's files are kept whole, of other scalings how they differ."""
    baseline = f"{orchestrator}/hotel-reservation-baseline"
    if scaling == "baseline":
        compare(baseline, files)
    else:
        differences = {"from-baseline.diff": _differences(_read(GOLDEN / baseline), files)}
        compare(f"{orchestrator}/hotel-reservation-{scaling}", differences)


def _read(folder: Path) -> dict[str, str]:
    """All files below a folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in files}


def _differences(before: dict[str, str], after: dict[str, str]) -> str:
    """What ``diff -U0`` says of all files, in the order of their names."""
    names = sorted({*before, *after})
    texts = ((name, before.get(name, "").splitlines(True), after.get(name, "").splitlines(True)) for name in names)
    return "".join(line for name, old, new in texts for line in difflib.unified_diff(old, new, name, name, n=0))
