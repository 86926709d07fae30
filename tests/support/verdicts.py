"""What tests with real servers may expect of a trial on a machine whose speed they do not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def assert_answered(*rows: Mapping[str, Any]) -> None:
    """Check that each trial is valid and that no request of it failed.

    Not that it held: within a window of seconds, a machine that is busy with something else builds up a backlog at
    any rate, and an objective without a limit that it could exceed does not exist.
    """
    for row in rows:
        assert row["verdict"] in ("held", "not held"), row["reasons"]
        assert row["errors"] == row["timeouts"] == 0, row["reasons"]
