"""Predictions from services whose cost is known: what bounds them, how they scale, what they do not know."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis import summary
from loadstone.analysis.capacity import (
    CannotFit,
    CapacityModel,
    Layout,
    Placed,
    demands,
    fit,
    fitting,
    predict,
    scale_of,
)
from loadstone.analysis.capacity.demands import Point
from loadstone.analysis.capacity.layout import stations
from loadstone.analysis.run import open_run
from tests.analysis.capacity.made import layout, model_of, run_of

COSTS = {"front": (0.001, 0.2), "back": (0.0004, 0.5), "store": (0.0002, None)}
POINT = 180.0
"""At which the front end has used 90 % of its limit."""


@cache
def model() -> CapacityModel:
    return model_of(Path(tempfile.mkdtemp()), COSTS, POINT)


def test_the_bottleneck_is_the_service_with_the_least_left():
    made = model()
    assert (made.bottleneck.kind, made.bottleneck.name) == ("service", "front")
    assert 0.85 <= made.utilisation <= 1
    assert made.observed is not None and not made.contradicted
    assert made.breaking_point.low == pytest.approx(0.99 * POINT) and made.breaking_point.high == 1.01 * POINT
    assert made.demands["back"].seconds(100) == pytest.approx(0.0004, rel=0.01)
    assert made.warnings == ()


def test_what_was_measured_is_predicted_as_it_was():
    found = predict(model(), layout(COSTS))
    assert found.value == pytest.approx(POINT, rel=0.001)
    assert found.low <= found.value <= found.high and found.extrapolation == pytest.approx(1, rel=0.01)


def test_an_interval_is_wider_where_equal_trials_differ():
    quiet, noisy = (predict(replace(model(), slope=slope), layout(COSTS, replicas=2)) for slope in (0.0, 0.1))
    assert noisy.value == quiet.value
    assert np.log(noisy.high / noisy.low) == pytest.approx(np.hypot(np.log(quiet.high / quiet.low), 0.392), rel=0.05)


def test_twice_the_replicas_bear_twice_the_load():
    found = predict(model(), layout(COSTS, replicas=2))
    assert found.value == pytest.approx(2 * POINT, rel=0.06)
    assert str(found.bottleneck) == "front (2 x 0.2 cores)" and found.warnings == ()


def test_twice_the_cpu_bears_twice_the_load_or_a_little_more():
    """Between the same share (2.0) and the same queueing, by which a faster server can be fuller (2.11)."""
    found = predict(model(), layout(COSTS, times=2))
    assert 2.0 * POINT < found.value < 2.12 * POINT
    assert found.low <= 2 * POINT and found.high >= 2.1 * POINT


def test_another_service_becomes_the_bottleneck():
    wide = Layout(
        tuple(
            replace(replica, limit=5.0) if replica.service == "front" else replica for replica in layout(COSTS).replicas
        ),
        {},
    )
    found = predict(model(), wide)
    assert found.bottleneck.name == "back"
    assert found.value == pytest.approx(0.5 * 0.9 / 0.0004, rel=0.02)
    assert any("extrapolation" in text for text in found.warnings)


def test_a_node_bounds_what_runs_on_it():
    found = predict(model(), layout(COSTS, replicas=10, cores=1))
    assert found.bottleneck.kind == "node" and str(found.bottleneck) == "node local (1 core)"
    assert found.value == pytest.approx(0.86 / 0.0016, rel=0.02)


def test_equal_nodes_are_one_station():
    placed = tuple(Placed("front", f"worker-{n}", None) for n in range(100))
    found = stations(Layout(placed, {f"worker-{n}": 2.0 for n in range(100)}))
    assert [(item.kind, item.name) for item in found] == [("node", "worker-0")]


def test_more_than_measured_is_marked():
    assert predict(model(), layout(COSTS, times=2)).warnings == ()
    assert re.search(r"(3\.0|3\.1) times", predict(model(), layout(COSTS, times=3)).warnings[0])


def test_limits_that_no_node_can_give_are_a_warning():
    assert (
        predict(model(), layout(COSTS, cores=0.4)).warnings[0]
        == "such a study is refused, as no node has the cores of a limit: back"
    )


def test_a_service_that_was_not_measured_is_named():
    more = layout(COSTS)
    found = predict(model(), replace(more, replicas=(*more.replicas, Placed("new", "local", 1.0))))
    assert "not measured, and assumed to use no CPU: new" in found.warnings


def test_work_that_piles_up_costs_less_and_no_more_cpu_is_used_than_there_is(tmp_path: Path):
    """At 1 ms, as at rest, 200 requests/s would take twice the limit: so many are served as their cost has halved."""
    made = model_of(tmp_path, {"front": (0.001, 0.1)}, 200.0)
    assert made.demands["front"].seconds(40) == pytest.approx(0.001, rel=0.02)
    assert made.pressed is not None
    assert [server.cost.in_bursts(0.01) for server in made.pressed.servers] == pytest.approx([0.0005] * 5, rel=0.25)
    assert made.utilisation == pytest.approx(1, rel=0.05) and made.observed == pytest.approx(1, rel=0.05)
    assert not made.contradicted and abs(made.misfit) < 0.1
    assert 0.95 < made.share(made.bottleneck, 190) <= 1.03 and made.share(made.bottleneck, 900) <= 1.03
    doubled = predict(made, layout({"front": (0.001, 0.1)}, times=2))
    assert 400 < doubled.value < 500 and doubled.low < 420 < doubled.high


def test_a_model_whose_bottleneck_was_not_seen_to_work_is_contradicted():
    made = replace(model(), observed=0.4)
    assert made.contradicted and not model().contradicted


def test_another_objective_is_predicted_where_a_quota_decides():
    made = model()
    assert made.pressed is not None
    ((share, limit), *rest) = made.pressed.objective.limits
    eased = replace(made.pressed.objective, limits=((share, 2 * limit), *rest))
    same, more = predict(made, made.layout, objective=made.pressed.objective), predict(made, made.layout, 0, eased)
    assert same.value == pytest.approx(POINT, rel=0.001) and more.value > same.value
    assert more.high / more.low > same.high / same.low
    with pytest.raises(ValueError, match="only where the bottleneck is a service with a CPU limit"):
        predict(replace(made, pressed=None), made.layout, objective=eased)


def test_nodes_whose_cores_are_not_known_bound_nothing(tmp_path: Path):
    folder = run_of(tmp_path, COSTS, POINT)
    provenance = json.loads((folder / "provenance.json").read_text())
    provenance["nodes"] = [{"name": "local", "role": "worker"}]
    (folder / "provenance.json").write_text(json.dumps(provenance))
    run = open_run(folder)
    made = fit(run, summary.treatments(run)[0])
    assert made.bottleneck.kind == "service"
    assert "the nodes' cores are not known: only limits of services bound the prediction" in made.warnings


def test_no_load_is_predicted_for_an_objective_that_none_keeps():
    made = model()
    assert made.pressed is not None
    ((share, _), *rest) = made.pressed.objective.limits
    with pytest.raises(ValueError, match="at no load does front"):
        predict(made, made.layout, objective=replace(made.pressed.objective, limits=((share, 1e-6), *rest)))


def test_what_earlier_predictions_missed_by_widens_the_next():
    assert scale_of([]) == 1
    assert scale_of([(100, 90, 111, None)]) == 1
    assert scale_of([(100, 90, 111, 100)] * 20) < 0.5
    assert scale_of([(100, 90, 111, 150)] * 20) > 5
    made = model()
    narrow, wide = (predict(made, layout(COSTS, times=2), scale=scale) for scale in (1, 3))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high


def test_what_something_else_than_cpu_breaks_is_reported(tmp_path: Path):
    made = model_of(tmp_path, {"front": (0.001, 1.0)}, 200.0)
    assert any("something else than CPU" in text for text in made.warnings)


def test_nothing_is_reported_without_a_breaking_point_or_counters(tmp_path: Path):
    folder = run_of(tmp_path, COSTS, POINT)
    (treatment,) = summary.treatments(open_run(folder))
    held = replace(treatment, trials=tuple(treatment.rows("held")))
    with pytest.raises(CannotFit, match="every trial held"):
        fit(open_run(folder), held)
    for place in (folder / "trials").iterdir():
        (place / "usage.json").unlink()
    with pytest.raises(CannotFit, match="no trial that held has CPU counters"):
        fit(open_run(folder), treatment)


@settings(max_examples=15, deadline=None)
@given(times=st.floats(0.3, 4), replicas=st.integers(1, 4))
def test_more_cpu_for_the_bottleneck_never_lowers_a_prediction(times: float, replicas: int):
    made = replace(model(), pressed=None, utilisation=0.9)
    before = layout(COSTS, replicas, times)
    first = predict(made, before)
    more = tuple(
        replace(replica, limit=2 * replica.limit)
        if replica.limit and replica.service == first.bottleneck.name
        else replica
        for replica in before.replicas
    )
    after = predict(made, replace(before, replicas=more))
    # On a node replicas are counted up to their limit: there a higher one may cost what another service needs.
    assert after.value >= first.value * 0.999 or after.bottleneck.kind == "node"


@settings(max_examples=4, deadline=None)
@given(scale=st.floats(0.05, 50))
def test_only_the_product_of_cost_and_load_counts(scale: float):
    """A machine that is as many times faster bears as many times more."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # Without the quota, whose period is no shorter on a faster machine.
        patch.setattr(fitting, "_pressed", lambda *_: None)
        faster = {name: (cost / scale, limit) for name, (cost, limit) in COSTS.items()}
        scaled = model_of(Path(folder), faster, POINT * scale)
    free = (replace(item, pressed=None, utilisation=0.9) for item in (scaled, model()))
    found, as_made = (predict(item, layout(COSTS, replicas=2, times=1.5)) for item in free)
    assert found.value / scale == pytest.approx(as_made.value, rel=1e-6)
    assert found.low / scale == pytest.approx(as_made.low, rel=1e-6)


def test_the_fit_finds_a_quadratic_and_its_interval_covers_it():
    """500 services with 4 % noise and a curve as in the prior: the interval holds the true cost in about 95 %."""
    random = np.random.default_rng(5)
    z = random.standard_normal((2000, 3))
    hits = 0
    for _ in range(500):
        idle, curve = abs(random.normal(0, 0.15)), random.normal(0, 0.1)
        points = []
        for share in (0.2, 0.35, 0.5, 0.75):
            cores = (idle + share + curve * share**2) * np.exp(random.normal(0, 0.04))
            points.append(Point(1000 * share, cores, 8.0, "t"))
        found = demands.fit("s", None, points)
        low, high = found.interval(750, z)
        hits += low <= (idle + 0.75 + curve * 0.75**2) / 750 <= high
    assert 0.9 <= hits / 500 <= 1.0
    assert abs(found.seconds(750) * 750 / (idle + 0.75 + curve * 0.75**2) - 1) < 0.15


def test_beyond_the_loads_measured_the_cost_neither_falls_nor_explodes():
    falling = [Point(rate, 0.1 * (rate / 100) ** 0.5, 8.0, "t") for rate in (20.0, 35.0, 50.0, 75.0)]
    found = demands.fit("s", None, falling)
    assert found.cores(300) / found.cores(150) > 1.7
    assert found.cores(150) >= found.cores(75)
    assert float(found.cores(1e-6)) >= 0
