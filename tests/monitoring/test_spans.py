"""The collector of spans against a receiver that answers as written here; see tests/system/test_observing.py too."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.cluster import Reach
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.observing import Traces
from loadstone.model.records.observed import Observed, SpanCounts
from loadstone.monitoring import receiving
from loadstone.monitoring.receiver import Receiver, ReceiverError
from loadstone.monitoring.spans import Spans
from tests.experiments.fakes import FakeOrchestrator

NOTHING = Observed(nodes={}, replicas={})
COUNTS: dict[str, Any] = {
    "received": 40,
    "written": 40,
    "refused": 0,
    "unreadable": 0,
    "unread": 0,
    "produced": 40,
    "dropped": 0,
    "roots": 8,
}
SCRIPT = """#!{python}
import json, sys
folder, counts, refusal, lives = {folder!r}, {counts!r}, {refusal!r}, {lives!r}
with open(folder + "/arguments", "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
if "--recover" in sys.argv:
    sys.exit(1)
print("listening on 127.0.0.1:4317 (gRPC)\\nlistening on 127.0.0.1:4318 (HTTP)", flush=True)
for number, line in enumerate(sys.stdin):
    if number == lives:
        sys.exit("out of memory")
    with open(folder + "/orders", "a") as file:
        file.write(line)
    result = counts if json.loads(line)["verb"] == "end" else {{}}
    print(json.dumps({{"kind": "conflict", "error": refusal}} if refusal else {{"ok": result}}), flush=True)
"""


def stone(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    counts: dict[str, Any] = COUNTS,
    refusal: str = "",
    lives: int = -1,
) -> None:
    """A ``stone`` whose receiver notes its orders in ``folder``; it ends at order number ``lives``."""
    file = folder / "stone"
    file.write_text(
        SCRIPT.format(python=sys.executable, folder=str(folder), counts=counts, refusal=refusal, lives=lives)
    )
    file.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(file))


def orders(folder: Path, file: str = "orders") -> list[Any]:
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def collector(deployment: Deployment, traces: Traces = Traces()) -> Spans:  # noqa: B008 - immutable
    client = next(node for node in deployment.nodes if node.role == "client")
    made = Spans(traces, deployment, client)
    made.start()
    return made


def trial(of: Spans, deployment: Deployment, folder: Path) -> Observed:
    of.begin(FakeOrchestrator(deployment, folder), folder)
    return of.end(NOTHING, 8)


def test_spans_go_into_the_folder_of_the_trial(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stone(tmp_path, monkeypatch)
    spans = collector(deployment, Traces(sample=0.5, forward="10.0.0.7:4317"))
    try:
        environment = spans.prepare(deployment).of("geo")[0].environment
        assert environment["STONE_TRACES"] == "127.0.0.1:4317" and environment["STONE_TRACES_SAMPLE"] == "0.5"
        before = time.time_ns()
        observed = trial(spans, deployment, tmp_path)
    finally:
        spans.stop()
    assert observed.traces == SpanCounts.model_validate({"sample": 0.5, "requests": 8, **COUNTS})
    assert observed.problems == ()
    [arguments] = orders(tmp_path, "arguments")
    assert arguments[:2] == ["spans", "--control"] and arguments[-2:] == ["--forward", "10.0.0.7:4317"]
    begin, end = orders(tmp_path)
    assert (begin["verb"], begin["file"]) == ("begin", str(tmp_path / "spans.parquet"))
    assert before <= begin["since_ns"] <= time.time_ns(), "what ended before belongs to another trial"
    assert end["verb"] == "end" and end["quiet_s"] > 2, "services send every two seconds"


def test_a_client_of_the_cluster_receives_them_from_the_first_trial_on(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stone(tmp_path, monkeypatch)

    class Client:
        stone = "/stone"

        def command(self, argv: list[str]) -> list[str]:
            assert argv[0] == self.stone
            return [str(tmp_path / "stone"), *argv[1:]]

        def get(self, path: str) -> bytes:
            return f"content of {path}".encode()

    desk, worker = deployment.nodes
    client = desk.model_copy(
        update={
            "name": "load-1",
            "address": "10.0.0.9",
            "reach": Reach(transport="exec", options={"software": "kubernetes"}),
        }
    )
    deployment = deployment.model_copy(update={"nodes": (client, worker)})
    monkeypatch.setattr(receiving, "connect", lambda *_: Client())
    spans = Spans(Traces(), deployment, desk)
    spans.start()
    try:
        assert not (tmp_path / "arguments").exists(), "its container comes with the deployment"
        assert spans.prepare(deployment).of("geo")[0].environment["STONE_TRACES"] == "10.0.0.9:4317"
        first, second = (trial(spans, deployment, tmp_path) for _ in range(2))
    finally:
        spans.stop()
    assert first.traces is not None and first.traces.produced is None and first.problems == ()
    assert second.traces is not None and second.traces.produced == 40
    assert (tmp_path / "spans.parquet").read_text() == "content of /tmp/spans.parquet"
    [arguments] = orders(tmp_path, "arguments")
    assert arguments[2:] == ["--grpc", "10.0.0.9:4317", "--http", "10.0.0.9:4318"]
    assert [each["file"] for each in orders(tmp_path) if each["verb"] == "begin"] == ["/tmp/spans.parquet"] * 2


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ({"dropped": 3, "received": 37, "written": 37}, "3 spans were given up by services"),
        (
            {"refused": 2},
            "2 spans were refused by the receiver, which could not keep up; set traces.receivers to 2 or more,"
            " or lower traces.sample",
        ),
        (
            {"unreadable": 1},
            "1 spans were rejected, without valid ids or times, or in requests that could not be read",
        ),
        ({"unread": 1}, "1 requests with spans could not be read: no OTLP, too large, or of an unknown type"),
        ({"received": 39, "written": 39}, "1 of 40 spans never came"),
    ],
)
def test_missing_spans_are_a_problem(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: dict[str, int], problem: str
) -> None:
    stone(tmp_path, monkeypatch, COUNTS | counts)
    spans = collector(deployment)
    try:
        assert trial(spans, deployment, tmp_path).problems == (problem,)
    finally:
        spans.stop()


def test_a_receiver_that_refuses_spoils_no_trial(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stone(tmp_path, monkeypatch, refusal="a trial is running; end it first")
    spans = collector(deployment)
    try:
        assert trial(spans, deployment, tmp_path).problems == (
            "spans were not recorded: a trial is running; end it first",
        )
    finally:
        spans.stop()


def test_a_receiver_that_dies_is_started_again_at_its_addresses(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stone(tmp_path, monkeypatch, lives=1)
    spans = collector(deployment)
    try:
        [problem] = trial(spans, deployment, tmp_path).problems
        assert problem == "spans were not recorded: the receiver of spans gave no answer to 'end': out of memory"
        stone(tmp_path, monkeypatch)
        observed = trial(spans, deployment, tmp_path)
        assert observed.problems == () and observed.traces is not None and observed.traces.received == 40
        assert observed.traces.produced is None, "what services had made before is unknown"
    finally:
        spans.stop()
    assert [each[2:6] for each in orders(tmp_path, "arguments") if "--grpc" in each][1] == [
        *("--grpc", "127.0.0.1:4317"),
        *("--http", "127.0.0.1:4318"),
    ]


def test_a_receiver_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "stone"
    file.write_text("#!/bin/sh\necho stone spans: --grpc: address in use >&2; exit 2\n")
    file.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(file))
    with pytest.raises(DeploymentError, match="stone spans did not start: stone spans: --grpc: address in use"):
        Receiver([], ())


def test_a_receiver_that_is_silent_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "stone"
    lines = r"listening on 127.0.0.1:1 (gRPC)\nlistening on 127.0.0.1:2 (HTTP)\n"
    file.write_text(f"#!/bin/sh\nprintf '{lines}'; exec sleep 60\n")
    file.chmod(0o755)
    monkeypatch.setenv("LOADSTONE_STONE", str(file))
    receiver = Receiver([], ())
    with pytest.raises(ReceiverError, match="gave no answer to 'counts'"):
        receiver.order("counts", {}, within_s=0.2)
    receiver.stop()
    receiver.stop()
    assert not receiver.alive()
