"""Runs the real command line in a folder that other users may enter, and looks for what it leaves behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.users import User, ours, wait


@pytest.fixture
def user() -> Iterator[User]:
    """A user; what they start must be gone when they go."""
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        Path(name).chmod(0o755)
        user = User(Path(name))
        yield user
        user.runs("down")
        wait(lambda: ours(user.home) == [])
