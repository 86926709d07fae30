"""Steps of this machine's wall clock: by hand, by NTP, or while it was suspended. Gradual corrections are none."""

from __future__ import annotations

import time

_NOTABLE_S = 0.02
_READINGS = 5


def offset_s() -> float:
    """Wall clock minus monotonic clock, of several readings the one that took the least time."""
    readings = []
    for _ in range(_READINGS):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1] / 1e9


class WallClock:
    """Compares the wall clock with what it was when this was made."""

    def __init__(self) -> None:
        self._offset_s = offset_s()

    def warnings(self) -> list[str]:
        """What a step since then means, as a sentence; none where there was none."""
        step = offset_s() - self._offset_s
        if abs(step) < _NOTABLE_S:
            return []
        return [
            f"the wall clock of this machine was stepped by {step:+.3g} s in this trial: latency and counts do not use "
            "it, but spans and counters may be assigned to a wrong window"
        ]
