"""Probes against instruments that answer as written here; the real ones are met in tests/system/test_observing.py."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.infrastructure.base import Access
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.observing import Metrics, Traces
from loadstone.model.records import Observed, ObservedReplica, Window
from loadstone.model.study import Settings
from loadstone.monitoring import nodes
from loadstone.monitoring.nodes import Nodes
from loadstone.monitoring.observation import Observation, observation_of
from tests.experiments.fakes import FakeOrchestrator
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes

NOTHING = Observed(nodes={}, replicas={})
COUNTS = {
    "received": 40,
    "written": 40,
    "refused": 0,
    "unreadable": 0,
    "unread": 0,
    "produced": 40,
    "dropped": 0,
    "roots": 8,
}
Answer = Callable[[str, str, bytes], tuple[int, bytes]]


class FakeInstrument:
    """Answers over HTTP as ``answer`` says; remembers what it was asked and started with."""

    answer: Answer
    arguments: list[str]
    asked: list[tuple[str, str, Any]]

    def __init__(self, arguments: list[str], cpus: tuple[int, ...], lines: int = 1) -> None:
        type(self).arguments, type(self).asked = arguments, []
        instrument = type(self)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                instrument.asked.append((self.command, self.path, json.loads(body) if body else None))
                code, said = instrument.answer(self.command, self.path, body)
                self.send_response(code)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_DELETE = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        address = f"127.0.0.1:{self._server.server_port}"
        self.addresses = ["127.0.0.1:4317"] * (lines - 1) + [address]

    def ask(self, method: str, path: str, body: Any = None, within_s: float = 30.0) -> Any:
        import requests

        from loadstone.monitoring.instrument import ask

        with requests.Session() as session:
            return ask(session, method, f"http://{self.addresses[-1]}{path}", body, within_s)

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def instrument(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeInstrument]]:
    monkeypatch.setattr(nodes, "Instrument", FakeInstrument)
    yield FakeInstrument


@pytest.fixture
def deployment() -> Deployment:
    return deployed(parse(SERVICES), two_nodes())


def client(of: Deployment) -> Node:
    return next(node for node in of.nodes if node.role == "client")


class Recordable(FakeOrchestrator):
    def recordable(self) -> dict[str, tuple[str, dict[str, str]]]:
        return {one.name: (one.node, {"group": f"loadstone/x/{one.name}"}) for one in self.deployment.replicas}


def says(counts: dict[str, Any], status: int = 200) -> Answer:
    return lambda _method, path, _body: (status, json.dumps(counts if path.endswith("end") else {}).encode())


def recording(metadata: dict[str, str]) -> bytes:
    table = pa.table({"time_ns": [1, 2], "subject": ["node", "node"], "metric": ["load1"] * 2, "value": [0.5, 0.6]})
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), sink)
    return sink.getvalue()


def agent(metadata: dict[str, str]) -> Answer:
    return lambda _method, path, _body: (200, recording(metadata) if path.endswith("/end") else b'{"id": "r1"}')


def test_what_agents_recorded_is_one_file(
    instrument: type[FakeInstrument], deployment: Deployment, tmp_path: Path
) -> None:
    instrument.answer = staticmethod(agent({"absent": '{"power": "no powercap"}', "skipped": "2"}))  # type: ignore[assignment]
    collector = Nodes(Metrics(period=0.5), deployment, client(deployment))
    collector.start()
    try:
        collector.begin(Recordable(deployment, tmp_path), tmp_path)
        [(_, path, asked)] = instrument.asked
        assert path == "/recordings" and asked["period_ms"] == 500
        assert asked["replicas"]["geo-1"] == {"group": "loadstone/x/geo-1"}
        observed = collector.end(NOTHING, 8)
        assert observed.problems == ()
        assert observed.nodes["worker-1"].absent == {"power": "no powercap"}
        assert observed.nodes["worker-1"].skipped == 2
        table = pq.read_table(tmp_path / "metrics.parquet")
        assert table["node"].to_pylist() == ["worker-1", "worker-1"] and table["value"].to_pylist() == [0.5, 0.6]
    finally:
        collector.stop()


def test_the_switch_of_emulated_hosts_is_recorded_with_this_machine(
    instrument: type[FakeInstrument], deployment: Deployment, tmp_path: Path
) -> None:
    instrument.answer = staticmethod(agent({}))  # type: ignore[assignment]
    collector = Nodes(Metrics(), deployment, client(deployment))
    collector.start()
    try:
        group = "loadstone/emulated-1/switch/daemons"
        for access in (Access("swarm", switch=group), Access("swarm")):
            collector.begin(Recordable(deployment, tmp_path, access), tmp_path)
        asked = [body for _, path, body in instrument.asked if path == "/recordings"]
        assert [body.get("networks") for body in asked] == [{"switch": {"group": group}}, None]
    finally:
        collector.stop()


def test_an_interrupted_recording_is_thrown_away(
    instrument: type[FakeInstrument], deployment: Deployment, tmp_path: Path
) -> None:
    instrument.answer = staticmethod(agent({}))  # type: ignore[assignment]
    collector = Nodes(Metrics(), deployment, client(deployment))
    collector.start()
    collector.begin(Recordable(deployment, tmp_path), tmp_path)
    collector.stop()
    assert instrument.asked[-1][:2] == ("DELETE", "/recordings/r1")


def test_a_recording_that_stopped_is_a_problem(
    instrument: type[FakeInstrument], deployment: Deployment, tmp_path: Path
) -> None:
    instrument.answer = staticmethod(agent({"stopped": "64 MiB are full"}))  # type: ignore[assignment]
    observation = Observation([Nodes(Metrics(), deployment, client(deployment))])
    observation.start()
    try:
        orchestrator = Recordable(deployment, tmp_path)
        observation.begin(orchestrator, tmp_path)
        observed = observation.end(orchestrator, Window(from_ns=1, to_ns=2), 8)
    finally:
        observation.stop()
    assert observed.problems == ("the recording of worker-1 stopped early: 64 MiB are full",)
    assert observed.traces is None and observed.window == Window(from_ns=1, to_ns=2)
    assert observed.nodes["worker-1"].recorded and not observed.nodes["client"].recorded
    assert observed.replicas["geo-1"] == ObservedReplica(service="geo", tier="logic", node="worker-1")


def test_nothing_is_started_where_nothing_is_asked_for(deployment: Deployment, tmp_path: Path) -> None:
    observation = observation_of(Settings(metrics=None, traces=Traces(sample=0)), deployment)
    observation.start()
    assert observation.prepare(deployment) == deployment
    observation.begin(FakeOrchestrator(deployment, tmp_path), tmp_path)
    assert observation.end(FakeOrchestrator(deployment, tmp_path), None, None).problems == ()
    observation.stop()
    assert list(tmp_path.iterdir()) == []


def test_counters_of_hosts_elsewhere_are_missed_in_one_sentence(
    instrument: type[FakeInstrument], deployment: Deployment, tmp_path: Path
) -> None:
    hosts = tuple(node.model_copy(update={"here": node.role == "client"}) for node in deployment.nodes)
    deployment = deployment.model_copy(update={"nodes": hosts})
    collector = Nodes(Metrics(), deployment, client(deployment))
    collector.start()
    assert collector.prepare(deployment) == deployment
    collector.begin(Recordable(deployment, tmp_path), tmp_path)
    observed = collector.end(NOTHING, sent=10)
    collector.stop()
    assert observed.problems == ("counters of hosts elsewhere are not recorded: worker-1",)
    assert observed.nodes == {} and list(tmp_path.iterdir()) == []
