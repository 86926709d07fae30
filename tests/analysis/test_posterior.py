"""What holds of the posterior, whatever the trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.posterior import posterior
from loadstone.analysis.trial_outcome import TrialOutcome

LOADS = st.floats(1.0, 1e5).map(lambda x: float(f"{x:.3g}"))
TIMES = st.none() | st.floats(10.0, 1000.0)
TRIALS = st.lists(
    st.builds(TrialOutcome, LOADS, st.booleans(), TIMES, st.none() | st.floats(0.0, 1.0)), min_size=1, max_size=20
)


def simulated(true: float, slope: float, count: int, seed: int) -> list[TrialOutcome]:
    """Trials beside the truth that hold as the model says, without lapses."""
    rng = np.random.default_rng(seed)
    loads = [true * math.exp((1 if index % 2 else -1) * slope) for index in range(count)]
    return [TrialOutcome(load, bool(true * (1 + slope * rng.normal()) >= load)) for load in loads]


@given(TRIALS)
@settings(max_examples=60, deadline=None)
def test_nothing_breaks_it(trials: list[TrialOutcome]) -> None:
    result = bp.estimate(trials)
    for e in (result.breaking_point, result.capacity, result.slope):
        assert 0 < e.low <= e.value <= e.high < math.inf
    weight = posterior(trials).weight
    assert weight.sum() == pytest.approx(1) and (weight >= 0).all()


@given(st.integers(0, 99), st.floats(0.01, 100))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_load_does_not_matter(seed: int, factor: float) -> None:
    trials = simulated(1000, 0.05, 8, seed)
    result = bp.estimate(trials).breaking_point
    scaled = bp.estimate([trial._replace(load=factor * trial.load) for trial in trials]).breaking_point
    assert scaled.value == pytest.approx(result.value * factor, rel=0.005)
    assert scaled.precision == pytest.approx(result.precision, rel=0.05)


@given(st.integers(0, 99), st.floats(600, 1600), st.floats(0.5, 2.0), TIMES, st.sampled_from([None, 0.2]))
@settings(max_examples=20, deadline=None)
def test_what_it_predicts_of_a_trial_sums_to_one(
    seed: int, load: float, factor: float, reference_ms: float | None, stolen: float | None
) -> None:
    trials = [trial._replace(reference_ms=60.0 + which) for which, trial in enumerate(simulated(1000, 0.05, 8, seed))]
    belief = posterior(trials)
    outcomes = [TrialOutcome(load, held, reference_ms, stolen) for held in (True, False)]
    assert sum(math.exp(belief.log_evidence([trial], factor)) for trial in outcomes) == pytest.approx(1)


@given(st.integers(0, 99), st.integers(0, 7))
@settings(max_examples=15, deadline=None)
def test_a_trial_that_held_never_gives_less_than_one_that_broke(seed: int, which: int) -> None:
    """But where it makes an episode of the last few trials likely: then by a small part of the interval."""
    trials = simulated(1000, 0.05, 8, seed)

    def point(held: bool) -> bp.Estimate:
        changed = [*trials[:which], trials[which]._replace(held=held), *trials[which + 1 :]]
        return bp.estimate(changed).breaking_point

    held, broke = point(True), point(False)
    assert broke.value <= held.value * (1.005 + 0.25 * broke.precision)
