"""The next trial of a plan, and the outcome of a finished one: all that a plan and its conductor exchange."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from loadstone.analysis.trial_outcome import TrialOutcome
from loadstone.model.records.trial_row import TrialVerdict
from loadstone.model.trial import Phase


@dataclass(frozen=True)
class NextTrial:
    """The next trial to run: offered load in requests/s, measured for ``duration_s``."""

    load: float
    phase: Phase
    duration_s: float


@dataclass(frozen=True)
class Outcome:
    """A finished trial."""

    load: float
    phase: Phase
    verdict: TrialVerdict
    hint: float | None = None
    """The load in requests/s at which the busiest service would have used all of its CPU; None where nothing says."""
    reference_ms: float | None = None
    """How long the same computation took during it; None where none was timed."""
    stolen: float | None = None
    """The share of processor time that a hypervisor gave to others; None where it was not recorded."""

    @property
    def evidence(self) -> TrialOutcome:
        """What a valid trial says of the breaking point."""
        return TrialOutcome(self.load, self.verdict == "held", self.reference_ms, self.stolen)


def readable(load: float) -> float:
    """``load`` to three significant digits: what people say, and what a trial's id is made of."""
    if not (math.isfinite(load) and load > 0):
        raise ValueError(f"load {load!r} is not a positive number of requests per second")
    return float(f"{load:.3g}")


def invalid_in_a_row(history: Iterable[Outcome]) -> int:
    """Invalid trials at the end of ``history``."""
    count = 0
    for outcome in history:
        count = count + 1 if outcome.verdict == "invalid" else 0
    return count
