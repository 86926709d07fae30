"""The simulator against queueing theory, and against what a quota and a tree of calls must do."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from loadstone.analysis.capacity import Layout, Placed
from loadstone.analysis.capacity.calls import of_application, of_traces, unfold
from loadstone.analysis.capacity.simulation import PERIOD_S, Work, simulate
from loadstone.analysis.traced_rows import OperationTimes
from loadstone.model.records.run_files import ApplicationPart

CALL = unfold("a", {}, False, "test")


def alone(cores: int, limit: float | None = None, replicas: int = 1) -> Layout:
    return Layout(tuple(Placed("a", "n", limit) for _ in range(replicas)), {"n": float(cores)})


@pytest.mark.parametrize(("cores", "full"), [(1, 0.5), (1, 0.8), (4, 0.8), (16, 0.9)])
@pytest.mark.slow
def test_mean_of_m_m_c(cores: int, full: float):
    """Erlang's C formula."""
    served = 100.0
    rate = full * cores * served
    found = simulate(alone(cores), CALL, {"a": Work(1 / served)}, rate, seed=7)
    load = rate / served
    tail = load**cores / math.factorial(cores) / (1 - full)
    waits = tail / (sum(load**k / math.factorial(k) for k in range(cores)) + tail)
    assert found.latency_ms["mean"] == pytest.approx(1e3 * (1 / served + waits / (cores * served - rate)), rel=0.06)
    assert found.busiest_share == pytest.approx(full, rel=0.03) and found.stable


def test_percentiles_of_m_m_1():
    """The sojourn time is exponential with the rate that is left."""
    found = simulate(alone(1), CALL, {"a": Work(0.01)}, 50.0, seed=3)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert found.latency_ms[name] == pytest.approx(-1e3 * math.log(1 - share) / 50, rel=0.06)


def test_two_stations_one_after_the_other_are_m_m_1_each():
    """Jackson: what leaves the first is Poisson again."""
    calls = unfold("a", {("a", "b"): 1.0}, False, "test")
    two = Layout((Placed("a", "n", None), Placed("b", "m", None)), {"n": 1.0, "m": 1.0})
    found = simulate(two, calls, {"a": Work(0.01), "b": Work(0.005)}, 60.0, hop_s=0.001, seed=5)
    assert found.latency_ms["mean"] == pytest.approx(1e3 * (1 / (100 - 60) + 1 / (200 - 60)) + 2, rel=0.05)


def test_a_node_whose_cores_are_not_known_is_a_node_of_its_own():
    two = Layout((Placed("a", "n", None), Placed("b", "m", None)), {"n": 1.0})
    found = simulate(two, unfold("a", {("a", "b"): 1.0}, False, ""), {"a": Work(0.004), "b": Work(0.008)}, 100.0)
    assert found.stable and found.busiest_share == pytest.approx(0.4, rel=0.05)


def test_a_quota_is_what_it_lets_through():
    free = simulate(alone(4), CALL, {"a": Work(0.001)}, 80.0)
    held = simulate(alone(4, limit=0.1), CALL, {"a": Work(0.001)}, 80.0)
    beyond = simulate(alone(4, limit=0.1), CALL, {"a": Work(0.001)}, 110.0)
    twice = simulate(alone(4, limit=0.1, replicas=2), CALL, {"a": Work(0.001)}, 110.0)
    assert held.busiest == "a" and held.busiest_share == pytest.approx(0.8, rel=0.05)
    assert held.latency_ms["p99"] > free.latency_ms["p99"] + 1e3 * PERIOD_S / 4
    assert not beyond.stable and beyond.latency_ms["p50"] is None
    assert twice.stable


@pytest.mark.parametrize("limit", [None, 0.1])
def test_no_cpu_is_fuller_than_full_and_too_short_a_look_says_nothing(limit: float | None):
    more, most = (simulate(alone(1, limit), CALL, {"a": Work(0.001)}, rate) for rate in (20_000.0, 1e7))
    assert not more.stable and more.busiest_share == pytest.approx(1, rel=0.03) and more.busiest_share <= 1
    assert not most.stable and most.busiest_share is None


def test_a_replica_that_is_woken_less_often_spends_less_and_bears_more():
    """At rest 0.6 ms a request, which the quota would let through 166 times a second; awake 0.25 ms."""
    held = alone(4, limit=0.1)
    work = {"a": Work(0.00025, wake_s=0.00035, answers=True)}
    rest, pressed, beyond = (simulate(held, CALL, work, rate) for rate in (20.0, 330.0, 450.0))
    assert rest.busiest_share == pytest.approx(20 * 0.0006 / 0.1, rel=0.1)
    assert pressed.stable and pressed.busiest_share == pytest.approx(1, rel=0.03)
    assert not beyond.stable


def test_calls_at_once_are_faster_than_one_after_the_other():
    edges = {("a", "b"): 1.0, ("a", "c"): 1.0}
    placed = Layout(tuple(Placed(name, name, None) for name in "abc"), dict.fromkeys("abc", 1.0))
    work = {"a": Work(1e-6), "b": Work(0.01), "c": Work(0.01)}
    turn = simulate(placed, unfold("a", edges, False, ""), work, 1.0)
    once = simulate(placed, unfold("a", edges, True, ""), work, 1.0)
    assert turn.latency_ms["mean"] == pytest.approx(20, rel=0.05)
    assert once.latency_ms["mean"] == pytest.approx(15, rel=0.05)  # the mean of the longer of two exponentials


def test_equal_seeds_give_equal_numbers():
    first, second = (simulate(alone(2, 0.5), CALL, {"a": Work(0.003)}, 100.0, seed=9) for _ in range(2))
    assert first == second


def spans(service: str, peer: str, count: int) -> OperationTimes:
    times = [field.name for field in fields(OperationTimes) if field.name.endswith("_ms")]
    return OperationTimes(service=service, operation="", peer=peer, count=count, errors=0, **dict.fromkeys(times, 0.0))


def test_calls_of_an_application_and_of_traces():
    services = {"web": {"needs": ["geo"], "calls": ["user"]}, "geo": {"needs": ["store"]}, "user": {}, "store": {}}
    application = ApplicationPart.model_validate({"entry": {"service": "web"}, "services": services})
    declared = of_application(application, application.entry.service, set(services))
    assert "user" not in of_application(application, application.entry.service, {"web", "geo", "store"}).visits()
    assert declared.visits() == {"web": 1.0, "geo": 1.0, "user": 1.0, "store": 1.0}
    rows = [spans("web", "", 100), spans("web", "geo", 60), spans("geo", "store", 150)]
    seen = of_traces(rows, "web", 100)
    assert seen.visits() == pytest.approx({"web": 1.0, "geo": 0.6, "store": 1.5})
    assert "from 100 traces" in seen.source and declared.source.startswith("assumed")


def test_calls_in_circles_end():
    found = unfold("a", {("a", "b"): 1.0, ("b", "a"): 1.0}, False, "")
    assert found.service == ("a", "b")


def test_a_service_without_a_replica_is_named():
    with pytest.raises(ValueError, match="no replica of b"):
        simulate(alone(1), unfold("a", {("a", "b"): 1.0}, False, ""), {}, 1.0)
