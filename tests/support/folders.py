"""Folders of tests that start real stores."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A folder that the stores' users can enter (pytest's own are closed), for the whole session."""
    folder = Path(tempfile.mkdtemp(prefix="loadstone-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own_folders(open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and data of this test alone; what initialising made is shared by the session. The folder of the data."""
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LOADSTONE_DATA", str(open_folder))
    return open_folder
