"""What a test with real servers can expect of a trial, however slow the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def assert_answered(*rows: Mapping[str, Any]) -> None:
    """Check that there are trials, that each is valid, and that no request of one failed.

    A trial need not hold: on a busy machine a backlog grows within seconds at any rate, whatever the objective.
    """
    assert rows, "no trial finished"
    for row in rows:
        assert row["verdict"] in ("held", "not held"), row["reasons"]
        assert row["errors"] == row["timeouts"] == 0, row["reasons"]
