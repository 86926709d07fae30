"""When a treatment has been repeated often enough: at set looks, by the precision of its mean P50 and P99 over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from loadstone.analysis.comparison.effect import ALPHA

Decision = Literal["go on", "reached", "not reached"]


@dataclass(frozen=True)
class Rule:
    """Stop at the first look at which every statistic is known as well as asked for."""

    precision: Mapping[str, float] = field(default_factory=lambda: {"p50": 0.02, "p99": 0.05})
    """By statistic, half the width of the 95 % interval of its geometric mean over runs: 0.02 is +-2 %."""
    least: int = 10
    most: int = 30
    every: int = 5


@dataclass(frozen=True)
class Look:
    """What the runs so far say. ``not reached`` is a result: the report shows it, and nothing more is run."""

    decision: Decision
    runs: int
    precision: dict[str, float]
    """What was reached by statistic, as in the rule; infinite for a single run."""


def look(values: Mapping[str, Sequence[float]], rule: Rule | None = None) -> Look:
    """Judge the runs so far: by statistic of the rule, one positive value a run. Raises KeyError without one of them.

    Between looks the decision is to go on, so it may be asked after every run.
    """
    rule = rule or Rule()
    runs = min(len(values[statistic]) for statistic in rule.precision)
    reached = {statistic: precision(values[statistic]) for statistic in rule.precision}
    due = runs >= rule.most or (runs >= rule.least and (runs - rule.least) % rule.every == 0)
    enough = all(reached[statistic] <= wanted for statistic, wanted in rule.precision.items())
    if due and enough:
        return Look("reached", runs, reached)
    return Look("not reached" if runs >= rule.most else "go on", runs, reached)


def precision(values: Sequence[float], alpha: float = ALPHA) -> float:
    """Half the width of the interval of the geometric mean, relative to it: 0.02 is +-2 %."""
    if len(values) < 2:
        return float("inf")
    logarithms = np.log(np.asarray(values, np.float64))
    reach = stdtrit(len(values) - 1, 1 - alpha / 2) * logarithms.std(ddof=1) / np.sqrt(len(values))
    return float(np.expm1(reach))
