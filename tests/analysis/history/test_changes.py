"""Changes from run to run: found where they are, and not where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.analysis.history.changes import changes, probabilities

NOTHING_KNOWN = [None] * 40


def simulated(seed: int, level: float, at: int, noise: float, count: int = 40) -> list[float]:
    rng = np.random.default_rng(seed)
    steps = np.where(np.arange(count) >= at, level, 0.0)
    return [float(value) for value in np.log(1200) + steps + noise * rng.standard_normal(count)]


def test_equal_runs_have_no_change() -> None:
    """Hardly any of 100 series of 40 runs without a change has one."""
    wrong = sum(bool(changes(simulated(seed, 0.0, 0, 0.03), NOTHING_KNOWN)) for seed in range(100))
    assert wrong <= 5


@pytest.mark.parametrize(("level", "noise"), [(-0.10, 0.02), (0.10, 0.02), (-0.4, 0.08)])
def test_a_change_is_found_where_it_is(level: float, noise: float) -> None:
    sizes, hits = [], 0
    for seed in range(40):
        found = changes(simulated(seed, level, 25, noise), NOTHING_KNOWN)
        hits += len(found) == 1 and abs(found[0].at - 25) <= 1
        sizes += [each.low <= np.exp(level) <= each.high for each in found]
    assert hits >= 36
    assert np.mean(sizes) >= 0.85, "intervals of the size contain it"


def test_two_changes_are_two() -> None:
    logs = simulated(1, -0.3, 12, 0.02)
    logs[25:] = [value + 0.3 for value in logs[25:]]
    found = changes(logs, NOTHING_KNOWN)
    assert [each.at for each in found] == [12, 25]
    assert found[0].ratio < 0.8 and found[1].ratio > 1.2


def test_what_runs_say_of_themselves_counts() -> None:
    """The same jump is a change where runs are precise, and none where each could be off by as much."""
    logs = [7.0, 7.0, 7.0, 7.0, 7.2, 7.2, 7.2, 7.2]
    precise, vague = (max(probabilities(logs, [sd] * 8)) for sd in (0.01, 0.3))
    assert precise > 0.9 and vague < 0.1


def test_probabilities_are_those_of_all_divisions() -> None:
    """Against the sum over all eight divisions of four runs, by the definition."""
    import itertools

    from scipy.stats import multivariate_normal

    from loadstone.analysis.history.changes import BETWEEN, JUMP, RATE

    y = np.array([0.0, 0.02, 0.3, 0.28])
    total, weight = np.zeros(4), 0.0
    for between in BETWEEN:
        for division in itertools.product([False, True], repeat=3):
            label = np.cumsum([False, *division])
            cov = between**2 * np.eye(4) + JUMP**2 * (label[:, None] == label[None, :])
            p = multivariate_normal.pdf(y - y.mean(), cov=cov)
            p *= np.prod([RATE if change else 1 - RATE for change in division])
            weight += p
            total += p * np.array([0, *division])
    assert probabilities(list(y), [None] * 4) == pytest.approx(total / weight)


def test_few_runs_are_no_obstacle() -> None:
    assert changes([], []) == changes([7.0], [None]) == []
    assert probabilities([7.0, 7.0], [None, None])[0] == 0
