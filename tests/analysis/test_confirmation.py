"""What fresh trials say of an estimate, against probabilities that can be worked out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from loadstone.analysis import breaking_point as bp
from loadstone.analysis import confirmation as fresh
from loadstone.analysis.posterior import LAPSE, Posterior, posterior
from loadstone.analysis.trial_outcome import UNTIMED, TrialOutcome, UsualMachine


def known(point: float, slope: float) -> Posterior:
    """A posterior without any doubt."""
    return Posterior(np.log([point]), np.array([slope]), UNTIMED, np.ones((1, 1, 1)), UsualMachine(None, 0.0, 0.0))


def learnt(seed: int, slope: float) -> Posterior:
    """What 24 trials of a system that breaks at 1000 requests/s say."""
    rng = np.random.default_rng(seed)
    loads = 1000 * np.exp(slope * np.tile([-1.5, 1.2], 12))
    return posterior([TrialOutcome(float(x), bool(1000 * (1 + slope * rng.normal()) > x)) for x in loads])


def judge(belief: Posterior, true: float, slope: float, seed: int, precision: float = 0.05) -> fresh.Confirmation:
    """The confirmation of ``belief``, run to its end on a system that breaks at ``true``."""
    rng, trials = np.random.default_rng([seed, 1]), list[TrialOutcome]()
    while (judged := fresh.confirmation(belief, trials, precision)).verdict is None:
        trials.append(TrialOutcome(judged.load, bool(true * (1 + slope * rng.normal()) > judged.load)))
    return judged


def test_odds_are_those_of_the_probabilities() -> None:
    judged = fresh.confirmation(known(1000, 0.05), [TrialOutcome(940.0, False)], 0.05)

    def fails(point: float) -> float:
        z = (1 - 940 / point) / 0.05
        return float(LAPSE / 2 + (1 - LAPSE) * ndtr(-z))

    assert judged.too_high == pytest.approx(fails(1000 / 1.15) / fails(1000))
    assert judged.too_low == pytest.approx(fails(1150) / fails(1000))


def test_the_first_trial_is_at_the_capacity_where_equal_trials_differ_little() -> None:
    belief = learnt(1, 0.02)
    judged = fresh.confirmation(belief, [], 0.05)
    assert judged.verdict is None
    assert judged.load == pytest.approx(bp.capacity(belief).value)


def test_and_midway_to_the_other_claim_where_they_differ_much() -> None:
    assert fresh.confirming_loads(known(1000, 0.2), 0.15) == pytest.approx((1000 / 1.15**0.5, 1000 * 1.15**0.5))


def test_one_unlikely_outcome_does_not_contradict() -> None:
    assert fresh.confirmation(known(1000, 0.05), [TrialOutcome(930.0, False)], 0.05).verdict is None


def test_right_estimates_are_seldom_contradicted_and_wrong_ones_mostly() -> None:
    """Fixed seeds, 40 estimates each: 6 have a chance of 1.4 % at 5 %, 28 of 4 % at 80 %."""
    verdicts = {
        factor: [judge(learnt(seed, 0.05), 1000 * factor, 0.05, seed).verdict for seed in range(40)]
        for factor in (1.0, 1 / 1.15, 1.15)
    }
    assert verdicts[1.0].count("contradicted") <= 5
    assert verdicts[1 / 1.15].count("contradicted") >= 28
    assert verdicts[1.15].count("contradicted") >= 28


def test_a_rough_estimate_is_confirmed_where_a_precise_one_could_not_be() -> None:
    """Equal trials that differ by 10 % do not tell 15 % apart, but 30 %: the error tested for at 10 %."""

    def verdicts(true: float, precision: float) -> list[fresh.Verdict | None]:
        return [judge(learnt(seed, 0.1), true, 0.1, seed, precision).verdict for seed in range(40)]

    assert verdicts(1000, 0.05).count("confirmed") <= 20
    assert verdicts(1000, 0.1).count("confirmed") >= 32
    assert verdicts(1000 / 1.3, 0.1).count("contradicted") >= 15
    assert verdicts(1300, 0.1).count("contradicted") >= 15
    assert not any("confirmed" in verdicts(true, 0.1)[:12] for true in (500, 2000))


def test_what_is_uncertain_is_undecided() -> None:
    alternating = [TrialOutcome(1000.0, index % 2 == 0) for index in range(fresh.MOST)]
    judged = fresh.confirmation(known(1000, 0.3), alternating, 0.05)
    assert judged.verdict == "undecided"
    assert "24 fresh trials (12 of 24 held at 1000/s) neither confirm" in fresh.in_words(judged, alternating)


def test_a_contradiction_is_put_in_words() -> None:
    trials = [TrialOutcome(930.0, False)] * 3
    expected = fresh.in_words(fresh.confirmation(known(1000, 0.05), trials, 0.05), trials)
    assert expected.startswith("contradicted by 3 fresh trials (0 of 3 held at 930/s): these are ")
    assert "if the system sustains 15% less" in expected


def test_several_searches_are_as_good_as_the_worst() -> None:
    assert fresh.together(["confirmed", "undecided", "contradicted"]) == "contradicted"
    assert fresh.together(["confirmed", "undecided"]) == "undecided"
    assert fresh.together(["confirmed", "confirmed"]) == "confirmed"
    assert fresh.together(["confirmed", None]) is None
    assert fresh.together([]) is None
