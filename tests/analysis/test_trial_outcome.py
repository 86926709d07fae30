"""What a trial says of the breaking point where the machine was observed meanwhile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.posterior import posterior
from loadstone.analysis.trial_outcome import TrialOutcome, UsualMachine, usual_machine


def searched(seed: int, times: str, exponent: float = 1.0, spread: float = 0.25) -> list[TrialOutcome]:
    """30 trials beside a limit of 1000 requests/s that goes with a speed, which is timed, is not, or seems another."""
    rng = np.random.default_rng(seed)
    trials = []
    for turn in range(30):
        speed, other = np.exp(rng.normal(0, spread, 2))
        load = 1000 * math.exp((0.15, -0.15, 0.05, -0.05)[turn % 4])
        seen = {"timed": 60 / speed, "apart": 60 / other, "not": None}[times]
        limit = 1000 * speed**exponent * (1 + rng.normal(0, 0.03))
        trials.append(TrialOutcome(load, bool(load < limit), seen))
    return trials


def test_a_trial_counts_at_the_load_that_would_be_as_hard_at_the_usual_speed() -> None:
    usual = UsualMachine(50.0, 0.0, 0.01)
    slow, plain = TrialOutcome(300.0, False, 100.0), TrialOutcome(300.0, True)
    assert [trial.load for trial in usual.counted([slow, plain], 1.0)] == [600.0, 300.0]
    assert usual.counted([slow], 0.5)[0].load == pytest.approx(300 * math.sqrt(2))
    assert usual.counted([slow], 0.0)[0].load == 300.0
    assert UsualMachine(None, 0.0, 0.0).counted([slow], 1.0)[0].load == 300.0


def test_what_is_usual_is_in_the_middle() -> None:
    seen = [(50.0, 0.0), (None, None), (70.0, 0.02), (60.0, 0.3), (60.0, 0.02), (600.0, 0.02)]
    usual = usual_machine([TrialOutcome(1.0, True, *each) for each in seen])
    assert usual.reference_ms == pytest.approx((60 * 60 * 70) ** (1 / 3))
    assert 0.05 < usual.error < 0.2 and usual.stolen == 0.02
    assert usual_machine([TrialOutcome(1.0, True)]) == UsualMachine(None, 0.0, 0.0)
    assert usual_machine([TrialOutcome(1.0, True, 60.0)] * 2) == UsualMachine(pytest.approx(60.0), 0.0, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_speed_that_decides_makes_the_estimate_sharper(seed: int) -> None:
    seen, unseen = (bp.estimate(searched(seed, times)) for times in ("timed", "not"))
    assert seen.follows is not None and seen.follows > 0.8 and unseen.follows is None
    assert seen.breaking_point.low < 1000 < seen.breaking_point.high
    assert seen.slope.value < 0.6 * unseen.slope.value
    assert seen.breaking_point.precision < 0.75 * unseen.breaking_point.precision
    assert "the machine's speed differed from trial to trial" in seen.warnings[0]


def test_a_speed_that_has_nothing_to_do_with_the_limit_does_no_harm() -> None:
    found = [(bp.estimate(searched(seed, "apart")), bp.estimate(searched(seed, "not"))) for seed in range(5)]
    assert np.mean([seen.follows or 0.0 for seen, _ in found]) < 0.35
    for seen, unseen in found:
        assert seen.breaking_point.low < 1000 < seen.breaking_point.high
        assert seen.breaking_point.precision < 1.3 * unseen.breaking_point.precision


def test_a_machine_that_stays_the_same_changes_nothing() -> None:
    trials = searched(5, "not", spread=0.02)
    timed = bp.estimate([trial._replace(reference_ms=61.0, stolen=0.3) for trial in trials])
    plain = bp.estimate(trials)
    assert timed.breaking_point.value == pytest.approx(plain.breaking_point.value, rel=1e-6)
    assert timed.warnings == plain.warnings
    assert not any(influence.notable for influence in timed.influences)


def test_a_trial_that_others_spoilt_counts_little_if_it_did_not_hold() -> None:
    loads = [1000 * math.exp(side * far) for far in (0.03, 0.1, 0.06, 0.15, 0.02, 0.08, 0.04) for side in (1, -1)]
    steady = [TrialOutcome(load, load < 1000, stolen=0.0) for load in loads]
    fails, holds = TrialOutcome(900.0, False), TrialOutcome(1080.0, True)

    def point(odd: TrialOutcome, stolen: float) -> bp.BreakingPoint:
        return bp.estimate([*steady, odd._replace(stolen=stolen)])

    value = bp.estimate(steady).breaking_point.value
    assert point(fails, 0.0).breaking_point.value < point(fails, 0.1).breaking_point.value < value * 1.001
    assert value / point(fails, 0.1).breaking_point.value < 1.005
    assert point(holds, 0.1).breaking_point.value == pytest.approx(point(holds, 0.0).breaking_point.value, rel=1e-3)
    assert "900/s did not hold" in " ".join(point(fails, 0.0).warnings)
    assert point(fails, 0.1).warnings == (
        "a hypervisor gave 3% more of the processors' time to others than usual in 1 of 15 trials: that these did not "
        "hold counts little",
    )


def test_fresh_trials_are_judged_by_the_machine_as_it_was_in_the_others() -> None:
    belief = posterior(searched(1, "timed"))
    point = bp.breaking_point(belief).value
    failed = TrialOutcome(0.8 * point, False)
    slow, usual = failed._replace(reference_ms=120.0), failed._replace(reference_ms=belief.usual.reference_ms)
    assert belief.log_evidence([slow], 1.0) > math.log(0.5) > math.log(0.2) > belief.log_evidence([usual], 1.0)
