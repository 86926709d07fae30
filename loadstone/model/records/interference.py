"""``interference.json``: what disturbed a trial, and what that used itself in the measured window."""

from __future__ import annotations

from loadstone.model.records.base import Items, Record, Whole


class NeighbourReading(Record):
    """What disturbed one node: its stressor, or all replicas of another application there; None is what the kernel
    does not count."""

    name: str
    """The stressor's kind, or the application."""
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
    """Its rate over its whole life."""
    command: Items[str] = ()
    """Its command line."""


class NeighbourLoad(Record):
    """Requests of another application that were due in the measured window, and what became of them."""

    application: str
    workload: str
    rate: float
    """Offered, per second."""
    window_s: float
    offered: Whole
    completed: Whole
    late: Whole
    """Answered well after their timeout."""
    errors: Whole
    timeouts: Whole
    unsent: Whole
    in_flight: Whole
    """Still unanswered when the generator ended."""
    p50_ms: float | None = None
    """Latency from the intended send time, of what was answered well; None where nothing was."""
    p90_ms: float | None = None
    p99_ms: float | None = None


class Disturbance(Record):
    """``interference.json``."""

    level: str
    """As the treatment names it."""
    readings: Items[NeighbourReading] = ()
    load: NeighbourLoad | None = None
    """The load of another application; None for a stressor, and for a trial that had no window."""
    problems: Items[str] = ()
    """Why it did not disturb the whole window, in sentences; the trial is invalid then."""
