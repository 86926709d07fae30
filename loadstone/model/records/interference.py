"""``interference.json``: what disturbed a trial, and what that used itself in the measured window."""

from __future__ import annotations

from loadstone.model.records.base import Items, Record, Whole


class NeighbourReading(Record):
    """One node's stressor; None is what the kernel does not count."""

    name: str
    """Its kind."""
    node: str
    window_s: float
    """Between the two readings."""
    cpu_s: float
    memory: Whole | None = None
    """Bytes, at the end of the window."""
    read: Whole | None = None
    """Bytes that it read from storage in the window."""
    written: Whole | None = None
    """Bytes that it wrote to storage in the window."""
    operations: Whole | None = None
    """Bogo operations in its whole life, which is longer than the window."""
    operations_per_s: float | None = None
    """Of its life."""
    command: Items[str] = ()
    """Its command line."""


class Disturbance(Record):
    """``interference.json``."""

    level: str
    """As the treatment names it."""
    readings: Items[NeighbourReading] = ()
    problems: Items[str] = ()
    """Why it did not disturb the whole window, in sentences; the trial is invalid then."""
