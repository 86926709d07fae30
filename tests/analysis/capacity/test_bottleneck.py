"""Predictions of a process under a quota against what another simulation of one, built otherwise, really bears."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from loadstone.analysis.capacity import Objective
from loadstone.analysis.capacity.bottleneck import Pressed, Surroundings, calibrate
from loadstone.analysis.capacity.replica import RequestCost, Server, breaking_point, simulate
from loadstone.model.slo import Slo
from tests.analysis.capacity import quota

pytestmark = pytest.mark.slow

BASE = 0.1


def objective(**limits: str) -> Objective:
    return Objective.of(Slo.model_validate(limits), warm_s=2, window_s=7, timeout_s=2)


P99 = objective(p99="200ms")


@cache
def base(of: Objective = P99) -> Pressed:
    """Calibrated on five loads at rest, three near the breaking point, and the breaking point itself."""
    truth = quota.truth(BASE, 1, of)
    shares = (0.05, 0.2, 0.35, 0.5, 0.6, 0.75, 0.9, 1.0)
    points = tuple(quota.point(seed, share * truth, BASE, of) for seed, share in enumerate(shares))
    found = calibrate("web", points, (BASE, 1), (truth, 0.02), Surroundings(quota.OTHERS_S, 0.0, 8), of)
    assert found is not None
    return found


def predicted(model: Pressed, limit: float, replicas: int, of: Objective) -> float:
    return model.measured * math.exp(np.log(model.ratios(limit, replicas, of)).mean())


@pytest.mark.parametrize(
    ("limit", "replicas", "of"),
    [
        (0.05, 1, P99),
        (0.2, 1, P99),
        (0.3, 1, P99),
        (0.1, 2, P99),
        (0.05, 2, P99),
        (0.15, 2, P99),
        (0.1, 1, objective(p99="300ms")),
        (0.1, 1, objective(p95="200ms")),
    ],
)
def test_what_was_not_measured_is_predicted_within_thirteen_percent(limit: float, replicas: int, of: Objective):
    """The base alone hardly tells which way a cost falls, and here it is the one that is less likely beforehand."""
    assert predicted(base(), limit, replicas, of) == pytest.approx(quota.truth(limit, replicas, of), rel=0.13)


def test_a_stricter_objective_is_predicted_less_well():
    """Which of two kinds of visits is served first decides it, and that the model does not know."""
    stricter = objective(p99="150ms")
    assert predicted(base(), BASE, 1, stricter) == pytest.approx(quota.truth(BASE, 1, stricter), rel=0.15)


def test_the_objective_that_was_measured_matters():
    """P95 of 50 ms breaks as soon as throttling is common: the share of batching is read from elsewhere."""
    strict = objective(p95="50ms")
    for limit in (0.05, 0.2):
        assert predicted(base(strict), limit, 1, strict) == pytest.approx(quota.truth(limit, 1, strict), rel=0.13)


def test_the_base_itself_is_what_was_measured():
    assert predicted(base(), BASE, 1, P99) == pytest.approx(base().measured, rel=1e-9)


def test_pressed_trials_use_all_of_the_quota_and_keep_the_objective():
    """What a model of constant cost calls impossible: 190 % of the CPU at the cost at rest."""
    model = base()
    found = model.at(0.9 * model.measured, BASE, 1)
    assert found.cpu == pytest.approx(BASE, rel=0.03) and found.throttled > 0.95 and found.holds > 0.9
    rest = model.servers[2].cost.alone_s
    assert rest * model.measured > 1.3 * BASE


def test_far_beyond_what_it_bears_all_of_the_quota_is_used():
    """However far: such a load is not simulated request by request."""
    model = base()
    assert [model.at(load, BASE, 1).cpu for load in (20 * model.measured, 1e12)] == pytest.approx([BASE] * 2, rel=0.03)


def test_latencies_that_were_not_fitted_agree():
    model = base()
    for share in (0.75, 0.9):
        arrived, done, _ = quota._run(77, share * model.measured, 60.0, BASE)
        latency = np.sort((done - arrived)[arrived > 2])
        p99 = float(np.quantile(latency, 0.99))
        simulated = model.at(share * model.measured, BASE, 1).latency_s
        assert float(np.quantile(simulated, 0.99)) == pytest.approx(p99, rel=0.25)


def test_nothing_is_calibrated_without_a_trial_at_rest():
    points = (quota.point(1, 700.0, BASE, P99),)
    assert calibrate("web", points, (BASE, 1), (700.0, 0.02), Surroundings(0.001, 0.0, 8), P99) is None


def test_a_server_without_a_quota_to_speak_of_is_m_m_1():
    """Two visits of 5 ms each at 60/s: a request sees the queue of an M/M/1 twice (Jackson with feedback)."""
    server = Server(limit=10.0, replicas=1, cost=RequestCost(0.010, floor=1.0, falls=1.0), apart_s=0.5, speed=1.0)
    wide = Objective(((0.01, 9.0),), warm_s=20.0, window_s=400.0)
    found = simulate(server, 60.0, wide)
    assert found.latency_s.mean() == pytest.approx(0.5 + 2 * 0.005 / (1 - 0.6), rel=0.03)
    assert found.cpu == pytest.approx(0.6, rel=0.03) and found.throttled == 0


def test_more_quota_or_replicas_or_time_never_bears_less():
    server = Server(limit=0.1, replicas=1, cost=RequestCost(0.00065, floor=0.35, falls=1.0), apart_s=0.001, speed=1.0)
    bears = breaking_point(server, P99)
    assert breaking_point(replace(server, limit=0.2), P99) > 1.9 * bears
    assert breaking_point(replace(server, replicas=2), P99) == pytest.approx(2 * bears, rel=0.05)
    assert breaking_point(server, objective(p99="400ms")) > bears > breaking_point(server, objective(p99="100ms"))


def test_others_on_the_node_slow_a_burst_down():
    around = Surroundings(0.001, 0.0006, 1.0)
    assert around.speed(0.0003, 0.1) == pytest.approx(1 / 3)
    assert Surroundings(0.001, 0.0006, 8.0).speed(0.0003, 0.1) == 1.0
    assert Surroundings(0.001, 0.0, 8.0).speed(0.0003, 2.5) == pytest.approx(3.0)


def test_each_doubling_of_a_batch_saves_as_much_again():
    cost = RequestCost(0.001, floor=0.0, falls=1 / 3)
    assert [cost.of_batch(2**n) for n in range(3)] == pytest.approx([0.001, 0.001 / 2 ** (1 / 3), 0.001 / 4 ** (1 / 3)])
    assert RequestCost(0.001, floor=0.4, falls=1.0).of_batch(1e9) == pytest.approx(0.0004)


def test_a_cost_in_bursts_is_that_of_the_batch_that_uses_them_up():
    cost = RequestCost(0.001, floor=0.2, falls=0.5)
    each = cost.in_bursts(0.02)
    assert each == pytest.approx(cost.of_batch(0.02 / each), rel=0.02)


def test_a_cost_at_rest_is_that_of_the_queue_of_m_m_1():
    cost = RequestCost(0.001, floor=0.3, falls=1.0)
    assert cost.at_rest(0.0) == 0.001
    exact = 0.5 * sum(0.5**others * cost.of_batch(1 + others) for others in range(60))
    assert cost.at_rest(0.5) == pytest.approx(exact, rel=0.01)


def test_a_cost_that_falls_with_each_doubling_makes_a_quota_go_further_than_in_proportion():
    """As measured of Hotel Reservation: twice the quota bears 2.6 times as much, half of it bears a third."""
    bears = [
        breaking_point(Server(limit, 1, RequestCost(0.00086, 0.12, 0.3), 0.002, 1.0), P99) for limit in (0.05, 0.1, 0.2)
    ]
    assert bears[1] / bears[0] > 2.4 and bears[2] / bears[1] > 2.4
