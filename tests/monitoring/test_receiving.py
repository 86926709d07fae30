"""Several receivers of a study's spans: where they are, what goes to which, and the one file that is made of theirs."""

from __future__ import annotations

import json
import random
import time
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Deployment
from loadstone.model.observing import Traces
from loadstone.model.records.observed import Observed
from loadstone.monitoring import receiving
from loadstone.monitoring.receiving import ReceivingPlace, places
from loadstone.monitoring.spans import Spans
from loadstone.orchestration.variables import traced
from tests.experiments.fakes import FakeOrchestrator

NOTHING = Observed(nodes={}, replicas={})


@pytest.fixture
def desk(deployment: Deployment) -> Node:
    return next(node for node in deployment.nodes if node.role == "client")


def send(place: ReceivingPlace, trace: int, numbers: list[int]) -> None:
    """Spans of a trace, the first of which is its root, as an exporter sends them."""
    now = time.time_ns()
    spans = [
        {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": "GET", "kind": 2,
         "parentSpanId": "" if number == numbers[0] else f"{numbers[0]:016x}",
         "startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1000)}
        for number in numbers
    ]  # fmt: skip
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "geo"}}]}
    body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()
    request = urllib.request.Request(
        f"http://{place.http}/v1/traces", body, {"Content-Type": "application/json", "stone-instance": "geo-1"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def of_traces(file: Path) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for row in pq.read_table(file).to_pylist():
        found.setdefault(int.from_bytes(row["trace_id"]), set()).add(row["span_id"])
    return found


@pytest.fixture
def three(deployment: Deployment, desk: Node, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(receiving, "_QUIET_S", 0.1)
    spans = Spans(Traces(receivers=3), deployment, desk)
    spans.start()
    yield spans
    spans.stop()


def test_the_files_of_all_receivers_become_one_with_whole_traces(
    three: Spans, deployment: Deployment, tmp_path: Path
) -> None:
    addresses = three.prepare(deployment).of("geo")[0].environment["STONE_TRACES"].split(",")
    assert len(set(addresses)) == 3 and addresses == [place.grpc for place in three._places]
    drawn = random.Random(7)
    for _ in range(2):
        folder = tmp_path / str(drawn.random())
        folder.mkdir()
        three.begin(FakeOrchestrator(deployment, folder), folder)
        want: dict[int, set[int]] = {}
        for trace in drawn.sample(range(1, 2**63), 40):
            numbers = drawn.sample(range(1, 2**63), drawn.randint(1, 9))
            want[trace] = set(numbers)
            if trace % 4:  # as services of stone choose
                send(three._places[trace % 3], trace, numbers)
            else:  # as those of others, of which each has its receiver
                for number in numbers:
                    send(drawn.choice(three._places), trace, [number])
        observed = three.end(NOTHING, 40)
        assert of_traces(folder / "spans.parquet") == want
        counts, total = observed.traces, sum(map(len, want.values()))
        assert counts is not None and observed.problems == ()
        assert (counts.received, counts.written, counts.traces) == (total, total, 40)
        assert [file.name for file in folder.iterdir()] == ["spans.parquet"]


def test_one_receiver_that_is_killed_costs_its_own_spans(three: Spans, deployment: Deployment, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    orchestrator = FakeOrchestrator(deployment, tmp_path)
    three.begin(orchestrator, first)
    for trace in (3, 4):
        send(three._places[trace % 3], trace, [10 * trace, 10 * trace + 1])
    killed = three._places[2]._receiver
    assert killed is not None
    killed._process.kill()
    observed = three.end(NOTHING, 2)
    assert of_traces(first / "spans.parquet") == {3: {30, 31}, 4: {40, 41}}
    (problem,) = observed.problems
    assert problem.startswith("spans were not recorded at client to the end: the receiver of spans "), problem
    assert observed.traces is not None and observed.traces.received is None
    second = tmp_path / "second"
    second.mkdir()
    three.begin(orchestrator, second)
    send(three._places[2], 5, [50])
    observed = three.end(NOTHING, 1)
    assert of_traces(second / "spans.parquet") == {5: {50}} and observed.problems == ()
    assert observed.traces is not None and (observed.traces.received, observed.traces.produced) == (1, None)


def at(deployment: Deployment, *reached: Reach) -> Deployment:
    worker = deployment.nodes[-1]
    clients = [
        worker.model_copy(update={"name": f"load-{n}", "role": "client", "address": f"10.0.0.{n}", "reach": reach})
        for n, reach in enumerate(reached, start=1)
    ]
    return deployment.model_copy(update={"nodes": (*clients, worker)})


def test_receivers_are_on_the_clients_in_turn(deployment: Deployment, desk: Node) -> None:
    pod, ssh = Reach(transport="exec", options={"software": "kubernetes"}), Reach(transport="ssh")
    in_pods = places(at(deployment, pod, pod), desk, 3, None)
    assert [place.grpc for place in in_pods] == ["10.0.0.1:4317", "10.0.0.2:4317", "10.0.0.1:4319"]
    on_hosts = places(at(deployment, ssh, ssh), desk, 1, None)
    assert [(place.node.name, place.local) for place in on_hosts] == [("load-1", False)]
    for reach in (Reach(transport="exec", options={"software": "docker"}), Reach(), Reach(transport="emulated")):
        assert [place.node for place in places(at(deployment, reach), desk, 2, None)] == [desk, desk]


def test_services_of_others_have_one_receiver_each(deployment: Deployment) -> None:
    replicas = [
        replica.model_copy(update={"stone": None, "image": "their/own"}) if replica.service == "geo" else replica
        for replica in deployment.replicas
    ]
    found = traced(deployment.model_copy(update={"replicas": tuple(replicas)}), ["a:1", "b:2"], 0.5)
    assert found.of("frontend")[0].environment["STONE_TRACES"] == "a:1,b:2"
    theirs = {replica.environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") for replica in found.of("geo")}
    assert len(theirs) == 1 and theirs < {"http://a:1", "http://b:2"}


def test_levels_of_a_factor_have_different_labels() -> None:
    assert [str(Traces(receivers=n)) for n in (1, 2)] == ["sample:100%", "sample:100%,receivers:2"]
