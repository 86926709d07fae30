"""Searches that are run to their end against an oracle, for tests."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from loadstone.experiments.next_trial import NextTrial, Outcome
from loadstone.experiments.search import Search, SearchFailed, SearchResult, next_probe
from loadstone.model.records.trial_row import TrialVerdict

Oracle = Callable[[NextTrial, int], TrialVerdict]
MOST = 400


def run(
    search: Search, oracle: Oracle, before: list[Outcome] | None = None
) -> tuple[SearchResult | SearchFailed, list[Outcome]]:
    """Run a search to its end; the oracle sees the probe and the number of trials so far."""
    history = list(before or [])
    for _ in range(MOST):
        step = next_probe(search, history)
        if not isinstance(step, NextTrial):
            return step, history
        history.append(Outcome(step.load, step.phase, oracle(step, len(history))))
    raise AssertionError(f"the search did not end: {history[-3:]}")


def step_at(capacity: float) -> Oracle:
    return lambda probe, _: "held" if probe.load <= capacity else "not held"


def noisy(capacity: float, slope: float, seed: int, invalid: float = 0.0) -> Oracle:
    """Equal calls give equal answers: a resumed search meets the same trials."""

    def oracle(probe: NextTrial, count: int) -> TrialVerdict:
        rng = random.Random(f"{seed} {count}")
        if rng.random() < invalid:
            return "invalid"
        longer = 1.013 if probe.phase == "bracket" else 1.0
        return "held" if math.log(capacity * longer / probe.load) + slope * rng.gauss(0, 1) > 0 else "not held"

    return oracle


def loads(history: list[Outcome], phase: str) -> list[float]:
    return [outcome.load for outcome in history if outcome.phase == phase]
