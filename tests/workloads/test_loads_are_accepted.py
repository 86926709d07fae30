"""Whatever `load` lets pass, the load generator accepts: no study fails after its application was deployed."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadstone.infrastructure.binary import stone_binary
from loadstone.model.load import Load
from loadstone.model.workload import Workload
from loadstone.workloads.base import Offer
from loadstone.workloads.stone import load_plan

GET = Workload.model_validate({"operations": {"get": {"path": "/"}}})
_UNREACHABLE = 3


def sometimes(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A key that is mostly left out, so that not everything contradicts something."""
    return st.integers(0, 3).flatmap(lambda number: strategy if number == 3 else st.none())


LOOPS = st.sampled_from([{"rates": [50]}, {"closed": {"clients": [1]}}, {"closed": {"clients": [3], "think": "10ms"}}])
OTHERS = st.fixed_dictionaries(
    {
        "arrival": sometimes(
            st.sampled_from(["constant", "zipf", {"process": "on-off", "on": "1s", "off": "2s"}])
            | st.just({"process": "poisson", "shape": [{"for": "2s", "from": 0.5, "to": 2}, {"for": "1s", "rate": 1}]})
        ),
        "slo": st.sampled_from([{"p99": "100ms"}, {"p50": "1ms", "p999": "2s"}]),
        "protocol": sometimes(st.sampled_from(["http/2", "grpc"])),
        "tls": sometimes(st.sampled_from([{}, {"insecure": True}, {"server_name": "a.b"}])),
        "connections": sometimes(st.integers(1, 4)),
        "policy": sometimes(st.sampled_from(["growing", "new"])),
        "most_connections": sometimes(st.integers(1, 8)),
        "pipelining": sometimes(st.integers(2, 3)),
        "streams": sometimes(st.integers(1, 3)),
        "threads": sometimes(st.integers(1, 4)),
        "timeout": sometimes(st.just("3s")),
        "drain": sometimes(st.just("10ms")),
        "wait": sometimes(st.sampled_from(["precise", "tick", "spin"])),
        "lateness": sometimes(st.just("2ms")),
        "record_requests": sometimes(st.just(True)),
    }
).map(lambda drawn: {key: value for key, value in drawn.items() if value is not None})
LOADS = st.builds(lambda loop, others: {**loop, **others}, LOOPS, OTHERS)


@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None)
@given(LOADS, st.booleans())
def test_a_load_that_is_right_is_one_that_the_generator_takes(drawn: dict[str, Any], may_stop: bool) -> None:
    load = Load.model_validate(drawn)
    if list(load.findings()) or list(load.misfits(3.0)):
        return
    with tempfile.TemporaryDirectory() as folder:
        offer = Offer(
            targets=("127.0.0.1:9", "127.0.0.1:9"),
            workload=GET,
            load=load,
            rate=0.0 if load.closed else 50.0,
            clients=load.closed.clients[0] if load.closed else None,
            warmup_s=1.0,
            duration_s=3.0,
            seed=1,
            may_stop=may_stop and load.closed is None,
            cpus=(0,),
            folder=Path(folder),
        )
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps(load_plan(offer)))
        command = [stone_binary(), "load", "--plan", str(plan), "--out", folder]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == _UNREACHABLE, (drawn, ended.stderr)
