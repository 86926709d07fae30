"""What an audit must have looked at, whatever rows it may have besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

ALWAYS = {"cpu", "memory", "cores", "node", "environment", "kernel"}
"""Read back of every replica of this machine or of an emulated host."""


def complete(rows: Iterable[Mapping[str, Any]], replicas: int, image: bool = True) -> bool:
    """Assert that every replica has each row of ``ALWAYS``, containers that of their image, once, and that all hold."""
    rows = list(rows)
    assert [row for row in rows if not row["ok"]] == []
    assert max(Counter((row["replica"], row["what"]) for row in rows).values()) == 1
    expected = ALWAYS | {"image"} if image else ALWAYS
    seen = {name: {row["what"] for row in rows if row["replica"] == name} for name in {row["replica"] for row in rows}}
    assert {name: expected - what for name, what in seen.items() if expected - what} == {}
    return len(seen) == replicas
