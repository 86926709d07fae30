"""What an estimate of the breaking point learns from a trial: its load, whether it held, how the machine was meanwhile.

A machine that others share is not the same in one trial as in the next. Two things are observed of it in every trial,
and each is taken relative to what it usually was, so that what is estimated is of the machine as it usually is:

- How long a computation that is always the same took. Were the limit of the system in proportion to the machine's
  speed, a trial at load x on a machine of half the usual speed would be as hard as one at 2 x usually is; in general as
  one at x t^g, where t is the time relative to the usual. The exponent g is estimated together with the breaking point:
  0 where the speed has nothing to do with the limit, as in a system that waits, 1 where it decides.
- Which share of the processors' time a hypervisor gave to others. It does so for tens of milliseconds at a time, which
  delays many requests at once: a trial with ``SPOILS`` more than usual fails for that alone with probability ``FAILS``.
  That it held says as much as ever, that it did not says little.

How fast the machine usually is must be found from the trials, too: it is a trimmed mean of the logarithms of their
times, whose standard error is a part of the interval of the breaking point.

Sources: Fisher, "Statistical Methods for Research Workers" (4th edition, 1932), for the analysis of covariance; Tukey
and McLaughlin, "Less vulnerable confidence and significance procedures for location based on a single sample" (Sankhya
A 25, 1963), for the trimmed mean. Errors of a time make g smaller than it is, and so adjust too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EXPONENTS = np.array([0.0, 0.5, 1.0])
"""Equally likely beforehand."""
UNTIMED = np.zeros(1)
"""The exponents where no trial was timed."""
TRIMMED = 0.2
"""The share of the times that is left out at either end of their mean."""
SPOILS, FAILS = 0.03, 0.5
"""With as much more, 7 of 9 trials at loads that usually hold did not: a small number, so the cautious half."""


class TrialOutcome(NamedTuple):
    """A valid trial: offered load in requests/s, and whether it held."""

    load: float
    held: bool
    reference_ms: float | None = None
    """How long the same computation took during it; None where none was timed."""
    stolen: float | None = None
    """The share of processor time that a hypervisor gave to others; None where it was not recorded."""


class CountedTrial(NamedTuple):
    """The trial that would have been as hard on the machine as it usually was."""

    load: float
    held: bool
    spoilt: bool
    """Whether others took so much of the processors' time that it may have failed for that alone."""


@dataclass(frozen=True)
class UsualMachine:
    """The machine as it usually was during trials."""

    reference_ms: float | None
    """The time of the computation; None where none was timed."""
    error: float
    """The standard error of its logarithm."""
    stolen: float
    """The share of processor time that a hypervisor gave to others."""

    def counted(self, trials: Iterable[TrialOutcome], exponent: float) -> list[CountedTrial]:
        """What each trial counts as, where the limit depends on the machine's speed by this exponent."""
        return [self._counted(trial, exponent) for trial in trials]

    def _counted(self, trial: TrialOutcome, exponent: float) -> CountedTrial:
        load = trial.load
        if trial.reference_ms is not None and self.reference_ms is not None:
            load *= (trial.reference_ms / self.reference_ms) ** exponent
        return CountedTrial(load, trial.held, (trial.stolen or 0.0) - self.stolen > SPOILS)


def usual_machine(trials: Sequence[TrialOutcome]) -> UsualMachine:
    """The machine as it usually was during these trials, of which there is one at least."""
    times = np.log([trial.reference_ms for trial in trials if trial.reference_ms is not None])
    stolen = median(trial.stolen or 0.0 for trial in trials)
    if not len(times):
        return UsualMachine(None, 0.0, stolen)
    middle, error = _trimmed_mean(times)
    return UsualMachine(float(np.exp(middle)), error, stolen)


def _trimmed_mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """The mean of the values in the middle, and its standard error; 0 of a single value."""
    ordered, out = np.sort(values), int(TRIMMED * len(values))
    inner = ordered[out : len(values) - out]
    if len(values) < 2:
        return float(inner[0]), 0.0
    winsorized = np.clip(ordered, inner[0], inner[-1])
    return float(inner.mean()), float(winsorized.std(ddof=1) / ((1 - 2 * TRIMMED) * np.sqrt(len(values))))
