"""What a trial is judged by, as a simulation needs it: limits of latency, and how long it is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import ValidationError

from loadstone.model.records.run_files import StudyFile
from loadstone.model.slo import Slo
from loadstone.model.units import seconds


@dataclass(frozen=True)
class Objective:
    """``limits``: the share of requests that may take longer than so many seconds; each must be kept, the last is of
    requests that are not answered in time at all."""

    limits: tuple[tuple[float, float], ...]
    warm_s: float
    window_s: float

    @classmethod
    def of(cls, slo: Slo, warm_s: float, window_s: float, timeout_s: float) -> Objective:
        """The objective of an SLO: its percentiles, and that its share completes in time."""
        limits = [(1 - percentile / 100, limit / 1e3) for percentile, limit in sorted(slo.limits.items())]
        return cls((*limits, (max(1 - slo.completed, 1e-6), timeout_s)), warm_s, window_s)

    def doublings(self, other: Objective) -> float:
        """How different another is: doublings of the limit of the highest percentile, and a half if that differs."""
        (share, limit), (share_there, limit_there) = min(self.limits[:-1]), min(other.limits[:-1])
        return abs(math.log2(limit / limit_there)) + (0.0 if math.isclose(share, share_there) else 0.5)


def of_study(study: StudyFile, slo: Slo | None) -> Objective | None:
    """The objective of a study as ``plan.json`` has it; None where it has no SLO, its windows differ by rate
    (``trial.requests``), or its times cannot be read."""
    if slo is None or study.trial.requests is not None:
        return None
    try:
        warm, window, timeout = map(seconds, (study.trial.warmup, study.trial.duration, study.load.timeout or "2s"))
        return Objective.of(slo, warm, window, timeout)
    except (TypeError, ValueError, ValidationError):
        return None
