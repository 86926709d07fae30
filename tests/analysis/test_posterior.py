"""What margins may and may not do to the posterior, whatever the trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.posterior import Trial, posterior

LOADS = st.floats(1.0, 1e5).map(lambda x: float(f"{x:.3g}"))
DISTANCES = st.one_of(st.floats(0, 1e9), st.sampled_from([0.0, 5e-324, math.inf]))


def signed(load: float, held: bool, distance: float | None) -> Trial:
    return Trial(load, held, None if distance is None else distance if held else -distance)


TRIALS = st.lists(st.builds(signed, LOADS, st.booleans(), st.none() | DISTANCES), min_size=1, max_size=20)


def measured(true: float, slope: float, count: int, seed: int, reach: float = 0.05) -> list[Trial]:
    """Trials beside the truth whose margins are as the model says, without lapses; ``reach`` of those that held."""
    rng = np.random.default_rng(seed)
    trials = []
    for index in range(count):
        load = true * math.exp((1 if index % 2 else -1) * slope)
        distance = math.log(true / load) + slope * rng.normal()
        trials.append(Trial(load, distance >= 0, distance / (reach if distance >= 0 else reach / 10)))
    return trials


def located(trials: list[Trial]) -> bp.Estimate:
    """The breaking point, margins believed."""
    return bp.breaking_point(posterior(trials, margins=True))


@given(TRIALS)
@settings(max_examples=20, deadline=None)
def test_what_is_reported_rests_on_verdicts_alone(trials: list[Trial]) -> None:
    assert bp.estimate(trials) == bp.estimate([trial._replace(margin=None) for trial in trials])


@given(TRIALS)
@settings(max_examples=60, deadline=None)
def test_nothing_breaks_it(trials: list[Trial]) -> None:
    result = bp.estimate(trials)
    for e in (result.breaking_point, result.capacity, result.slope):
        assert 0 < e.low <= e.value <= e.high < math.inf
    weight = posterior(trials, margins=True).weight
    assert weight.sum() == pytest.approx(1) and (weight >= 0).all()


@given(TRIALS, st.randoms())
@settings(max_examples=30, deadline=None)
def test_the_order_of_trials_does_not_matter(trials: list[Trial], random: object) -> None:
    shuffled = list(trials)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert (posterior(shuffled, margins=True).weight == posterior(trials, margins=True).weight).all()


@given(st.integers(0, 99), st.floats(0.01, 100))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_load_does_not_matter(seed: int, factor: float) -> None:
    trials = measured(1000, 0.05, 8, seed)
    result = located(trials)
    scaled = located([trial._replace(load=factor * trial.load) for trial in trials])
    assert scaled.value == pytest.approx(result.value * factor, rel=0.005)
    assert scaled.precision == pytest.approx(result.precision, rel=0.05)


@given(st.integers(0, 99), st.floats(600, 1600), st.floats(0.5, 2.0))
@settings(max_examples=20, deadline=None)
def test_what_it_predicts_of_a_trial_sums_to_one(seed: int, load: float, factor: float) -> None:
    belief = posterior(measured(1000, 0.05, 8, seed))
    plain = [Trial(load, True), Trial(load, False)]
    assert sum(math.exp(belief.log_evidence([one], factor)) for one in plain) == pytest.approx(1)


@given(st.integers(0, 99), st.integers(0, 7))
@settings(max_examples=15, deadline=None)
def test_a_trial_that_held_never_gives_less_than_one_that_broke(seed: int, which: int) -> None:
    trials = measured(1000, 0.05, 8, seed)

    def median(held: bool) -> float:
        return bp.estimate(
            [*trials[:which], Trial(trials[which].load, held), *trials[which + 1 :]]
        ).breaking_point.value

    assert median(False) <= 1.005 * median(True)


def test_margins_narrow_what_verdicts_leave_open() -> None:
    ratios = []
    for seed in range(20):
        trials = measured(1000, 0.05, 10, seed, reach=0.2)
        ratios.append(located(trials).precision / bp.estimate(trials).breaking_point.precision)
    assert sorted(ratios)[10] < 0.9


def test_intervals_with_margins_cover_the_truth() -> None:
    points = capacities = 0
    for seed in range(100):
        belief = posterior(measured(1000, 0.05, 12, seed, reach=0.03 * 1.02**seed), margins=True)
        point, capacity = bp.breaking_point(belief), bp.capacity(belief)
        points += point.low <= 1000 <= point.high
        capacities += capacity.low <= 1000 * math.exp(-1.6449 * 0.05) <= capacity.high
    assert points >= 90 and capacities >= 88  # the seeds are fixed, so this cannot flicker


def test_margins_that_say_nothing_do_not_mislead() -> None:
    """Of the sign that the verdict has, and otherwise drawn by lot."""
    points = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        lots = [
            one._replace(margin=math.copysign(rng.choice([0.05, 0.2, 0.5, 2, 20]), one.margin or 0.0))
            for one in measured(1000, 0.05, 14, seed)
        ]
        result = located(lots)
        points += result.low <= 1000 <= result.high
    assert points >= 52
