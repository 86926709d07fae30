"""What each replica used during the measured window: processor time, throttling, memory.

The counters are read when the driver reports that the window begins and that it ends. The two readings are off by what
a reading takes; every number is given with the time between them.
"""

from __future__ import annotations

import time
from typing import TypeVar

from loadstone.model.records.node.replicas import Used
from loadstone.model.records.observed import MeasuredWindow
from loadstone.model.records.reading import Reading
from loadstone.orchestration.base import Orchestrator

_Number = TypeVar("_Number", int, float)


class UsageWindow:
    """Brackets one measured window of a deployment: ``start``, ``stop``, then ``rows``."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator
        self._before: dict[str, Used] = {}
        self._after: dict[str, Used] = {}
        self._nodes: dict[str, str] = {}
        self._started: float | None = None
        self._stopped: float | None = None
        self._started_ns, self._stopped_ns = 0, 0
        self._new_peaks = False

    def start(self) -> None:
        """Read the counters and begin new memory peaks where the kernel can."""
        self._new_peaks = self._orchestrator.new_peaks()
        before = time.monotonic()
        self._before = self._orchestrator.usage()
        self._started, self._started_ns = (before + time.monotonic()) / 2, time.time_ns()

    def stop(self) -> None:
        """Read the counters again."""
        before = time.monotonic()
        self._after = self._orchestrator.usage()
        self._stopped, self._stopped_ns = (before + time.monotonic()) / 2, time.time_ns()
        self._nodes = self._orchestrator.nodes()

    def finish(self) -> None:
        """The driver has ended; a window that it did not reach the end of ends now."""
        if self._started is not None and self._stopped is None:
            self.stop()

    def seen_ns(self) -> MeasuredWindow | None:
        """The window in unix nanoseconds, as the counters were read; None if there was none."""
        if self._started is None or self._stopped is None:
            return None
        return MeasuredWindow(from_ns=self._started_ns, to_ns=self._stopped_ns)

    def rows(self) -> list[Reading]:
        """One row a replica for ``usage.json``; none if the window never started.

        ``window_s`` is the time between the two readings, ``cpu`` is cores' worth of processor time over it.
        ``memory_peak`` is that of ``memory_peak_of``: the ``window``, or the replica's ``life`` where a peak cannot
        begin anew.
        """
        self.finish()
        if self._started is None or self._stopped is None:
            return []
        seconds = self._stopped - self._started
        return [
            self._row(replica.name, seconds)
            for replica in self._orchestrator.deployment.replicas
            if replica.name in self._before and replica.name in self._after
        ]

    def _row(self, name: str, seconds: float) -> Reading:
        replica = next(r for r in self._orchestrator.deployment.replicas if r.name == name)
        before, after = self._before[name], self._after[name]
        cpu_s = after.cpu_s - before.cpu_s
        return Reading(
            replica=name,
            service=replica.service,
            tier=replica.tier,
            node=self._nodes.get(name, replica.node),
            window_s=round(seconds, 3),
            from_ns=self._started_ns,
            to_ns=self._stopped_ns,
            cpu_s=round(cpu_s, 6),
            cpu=round(cpu_s / seconds, 4) if seconds > 0 else None,
            cpu_limit=replica.resources.cpu,
            periods=_difference(before.periods, after.periods),
            throttled_periods=_difference(before.throttled_periods, after.throttled_periods),
            throttled_s=_difference(before.throttled_s, after.throttled_s),
            memory=after.memory,
            memory_peak=after.memory_peak,
            memory_peak_of="window" if self._new_peaks else "life",
            memory_limit=replica.resources.memory,
            oom_kills=_difference(before.oom_kills, after.oom_kills),
            processes=after.pids,
        )


def _difference(before: _Number | None, after: _Number | None) -> _Number | None:
    return None if before is None or after is None else round(after - before, 6)
