"""Rendered files that are kept beside the tests, so that a change of any of them is seen by whoever reviews it."""

from __future__ import annotations

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
    kept = {
        str(file.relative_to(place)): file.read_text(encoding="utf-8") for file in place.rglob("*") if file.is_file()
    }
    assert sorted(kept) == sorted(files), f"{UPDATE}=1 writes them anew"
    for name, text in files.items():
        assert text == kept[name], f"{place / name}: {UPDATE}=1 writes it anew"
    if os.environ.get(UPDATE) == "1":
        pytest.skip(f"{place} is written")
