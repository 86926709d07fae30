"""``usage.json``: what each replica used in the measured window, between two readings of its counters."""

from __future__ import annotations

from typing import Literal

from loadstone.model.records.base import Record, Whole


class Reading(Record):
    """One replica; None where it has no limit, or the kernel no such counter. Memory in bytes, CPU in cores."""

    replica: str = ""
    service: str
    tier: str
    node: str = ""
    window_s: float
    """Between the two readings."""
    from_ns: Whole | None = None
    """Unix time of the readings; None in runs of release 0.1, which took them at the ends of a looser window."""
    to_ns: Whole | None = None
    cpu_s: float
    cpu: float | None = None
    """``cpu_s`` over the window: cores on average."""
    cpu_limit: float | None = None
    periods: Whole | None = None
    throttled_periods: Whole | None = None
    throttled_s: float | None = None
    memory: Whole | None = None
    memory_peak: Whole | None = None
    memory_peak_of: Literal["window", "life"] | None = None
    """``life``: of the replica, where a peak cannot begin anew."""
    memory_limit: Whole | None = None
    oom_kills: Whole | None = None
    processes: Whole | None = None
