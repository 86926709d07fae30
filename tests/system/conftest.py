"""Runs the real command line against the real Hotel Reservation, and looks for what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.users import User, empty_cgroups, ours, wait


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A user; whatever they start must be gone when they go."""
    groups = empty_cgroups()
    tmp_path.chmod(0o755)
    user = User(tmp_path)
    yield user
    left = ours(tmp_path)
    user.runs("down")
    wait(lambda: ours(tmp_path) == [])
    assert left == [], "left running"
    wait(lambda: set(empty_cgroups()) <= set(groups))  # one of another's may just be made, or taken away
