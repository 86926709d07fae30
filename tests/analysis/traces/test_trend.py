"""Which service is becoming the bottleneck, reported only where it is clear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from loadstone.analysis.schema import schema_of
from loadstone.analysis.traced_rows import ServiceTimes
from loadstone.analysis.traces import analyse, growth, read
from tests.made_traces import Application, write


def services(network: dict[tuple[str, str], float] | None = None, **ms: float) -> pa.Table:
    """One request's milliseconds by service, and on the network from one to another (part of the caller's)."""
    rows = [
        dict.fromkeys(schema_of(ServiceTimes).names, 0.0) | {"service": name, "spans": 1, "critical_s": time / 1e3}
        for name, time in ms.items()
    ]
    for (caller, called), time in (network or {}).items():
        for row in rows:
            row["network_s"] += time / 1e3 * (row["service"] == caller)
            row["waited_s"] += time / 1e3 * (row["service"] == called)
    total = sum(ms.values())
    rows = [
        row | {"critical_share": 1e3 * row["critical_s"] / total, "per_request_ms": 1e3 * row["critical_s"]}
        for row in rows
    ]
    return pa.Table.from_pylist(rows, schema=schema_of(ServiceTimes))


def test_the_service_that_bends_upwards_is_named() -> None:
    loads = [100, 200, 400, 800, 900]
    found = growth([(load, services(frontend=1.0, rate=0.5 / (1 - load / 1000), geo=1.0)) for load in loads])
    assert found.service == "rate"
    assert found.why == "the share of rate in the critical path grows from 22% to 71%"
    first = found.table.to_pylist()[0]
    assert (first["service"], round(first["share_low"], 3), round(first["share_high"], 3)) == ("rate", 0.217, 0.714)
    assert (first["per_request_low_ms"], first["per_request_high_ms"]) == pytest.approx((0.5 / 0.9, 5.0))
    assert first["gain"] == pytest.approx(first["share_high"] - first["share_low"])


def test_waiting_for_a_service_is_the_services() -> None:
    trials = []
    for load in (100, 200, 300, 400):
        queue = load / 100
        trials.append((load, services({("frontend", "rate"): queue}, frontend=1.0 + queue, rate=1.0)))
    assert growth(trials).service == "rate"


def test_repetitions_that_stray_do_not_hide_it() -> None:
    random = np.random.default_rng(3)
    trials = [
        (
            load,
            services(
                frontend=random.normal(2, 0.1), rate=random.normal(1 + load / 200, 0.1), geo=random.normal(1, 0.1)
            ),
        )
        for load in (100, 200, 300, 400)
        for _ in range(3)
    ]
    assert growth(trials).service == "rate"


@pytest.mark.parametrize(
    ("trials", "why"),
    [
        ([], "at one load"),
        ([(100, {"a": 1.0, "b": 1.0})] * 5, "at one load"),
        (
            [(100, {"a": 1.0, "b": 1.0}), (200, {"a": 2.0, "b": 1.0}), (300, {"a": 3.0, "b": 1.0})],
            "3 trials at 3 loads are too few",
        ),
        ([(load, {"a": 1.0, "b": float(load)}) for load in (100, 200)] * 4, "8 trials at 2 loads are too few"),
        ([(load, {"a": load, "b": load}) for load in (100, 200, 300, 400)], "no service's share grows"),
        ([(load, {"a": 1.0, "b": load / 100, "c": load / 100}) for load in (100, 200, 300, 400)], "grow alike"),
        ([(load, {"a": 5.0, "b": b}) for load, b in ((1, 1.0), (2, 3.0), (3, 1.5), (4, 2.0))], "not steadily"),
    ],
)
def test_an_unclear_growth_is_not_reported(trials: list[tuple[float, dict[str, float]]], why: str) -> None:
    found = growth([(load, services(**ms)) for load, ms in trials])
    assert found.service is None and why in found.why


def test_a_service_that_is_not_in_every_trial_had_no_time_there() -> None:
    trials = [(load, services(a=1.0, **({"b": load} if load > 1 else {}))) for load in (1.0, 2.0, 3.0, 4.0)]
    found = growth(trials)
    assert found.service == "b" and found.table.to_pylist()[0]["share_low"] == 0


def test_it_is_found_in_traces(tmp_path: Path) -> None:
    trials = []
    for load in (100, 200, 300, 400):
        rows = Application(seed=load, delay_ms={"geo": load / 400}).rows(60)
        trials.append((load, analyse(read(write(tmp_path / "spans.parquet", rows))).services))
    assert growth(trials).service == "geo"
