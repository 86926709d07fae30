"""Where a problem is, as its reader would type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.errors import Problem


def test_files_below_the_working_folder_are_named_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert str(Problem(here / "apps" / "web.yaml", 3, "name", "is empty")) == "apps/web.yaml:3: name: is empty"
    assert str(Problem(tmp_path / "web.yaml", 3, "", "is empty")) == f"{tmp_path}/web.yaml:3: is empty"
    assert str(Problem("../web.yaml", 0, "", "is empty")) == "../web.yaml: is empty"
    here.rmdir()
    assert str(Problem(here / "web.yaml", 1, "", "is empty")) == f"{here}/web.yaml:1: is empty"
