"""The docstore's queue and the load generator against libzmq, which ``pyzmq`` brings: both sides of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from loadstone.infrastructure.binary import stone_binary
from tests.support.servers import free_port

PATIENCE_MS = 30_000


class Queue:
    """``stone serve docstore/queue`` over the stand-in for CouchDB, seeded."""

    def __init__(self, kind: str) -> None:
        self.port, self.store = free_port(), free_port()
        self.environment = os.environ | {
            "STONE_LISTEN": f"127.0.0.1:{self.port}",
            "STONE_NEED_COUCHDB": f"127.0.0.1:{self.store}",
            "STONE_TASK_SOCKET": kind,
            "STONE_LOG_LEVEL": "error",
        }
        self.couchdb = subprocess.Popen([stone_binary(), "couchdb", "--listen", f"127.0.0.1:{self.store}"])
        plan = {"couchdb": {"couchdb": f"127.0.0.1:{self.store}"}, "dataset": {"documents": 20}}
        subprocess.run(
            [stone_binary(), "seed", "docstore", "--plan", "-"],
            input=json.dumps(plan),
            text=True,
            check=True,
            capture_output=True,
        )
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([stone_binary(), "serve", "docstore/queue"], env=self.environment)

    def stop(self) -> None:
        for process in (self.process, self.couchdb):
            process.kill()
            process.wait()


@pytest.fixture(params=["rep", "router"])
def queue(request: pytest.FixtureRequest) -> Iterator[Queue]:
    running = Queue(request.param)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def context() -> Iterator[zmq.Context[Any]]:
    made = zmq.Context()
    try:
        yield made
    finally:
        made.destroy(linger=0)


def connected(context: zmq.Context[Any], port: int, kind: int = zmq.REQ, **options: int) -> Any:
    client = context.socket(kind)
    client.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)
    for name, value in options.items():
        client.setsockopt(getattr(zmq, name), value)
    client.connect(f"tcp://127.0.0.1:{port}")
    return client


def get(number: int) -> bytes:
    return json.dumps({"op": "get", "id": f"document-{number}"}).encode()


def document(reply: bytes) -> str:
    return str(json.loads(reply)["document"]["_id"])


def test_clients_of_libzmq_read_documents(queue: Queue, context: zmq.Context[Any]) -> None:
    clients = [connected(context, queue.port) for _ in range(5)]
    for number in range(1, 21):
        for client in clients:
            client.send(get(number))
        assert [document(client.recv()) for client in clients] == [f"document-{number}"] * 5


def test_a_dealer_with_envelopes_of_several_frames(queue: Queue, context: zmq.Context[Any]) -> None:
    client = connected(context, queue.port, zmq.DEALER)
    for number in (1, 2, 3):
        client.send_multipart([b"hop", str(number).encode(), b"", get(number)])
    for number in (1, 2, 3):
        *envelope, reply = client.recv_multipart()
        assert (envelope, document(reply)) == ([b"hop", str(number).encode(), b""], f"document-{number}")


def test_heartbeats_are_answered(queue: Queue, context: zmq.Context[Any]) -> None:
    client = connected(context, queue.port, HEARTBEAT_IVL=20, HEARTBEAT_TIMEOUT=200)
    monitor = client.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    client.send(get(1))
    assert document(client.recv()) == "document-1"
    assert not monitor.poll(1000), "libzmq ends a connection whose pings are not answered"
    client.send(get(2))
    assert document(client.recv()) == "document-2"


def test_messages_of_all_sizes_and_of_several_frames(queue: Queue, context: zmq.Context[Any]) -> None:
    client = connected(context, queue.port)
    for size in (0, 1, 255, 256, 65_536, 1_000_000, 10_000_000):
        client.send(b"x" * size)
        assert json.loads(client.recv())["error"] == ("message_too_large" if size > 2**20 else "bad_request")
    client.send_multipart([get(1), get(2)])
    assert json.loads(client.recv())["reason"] == "2 frames; want one"
    client.send(get(3))
    assert document(client.recv()) == "document-3"


def test_a_client_finds_a_queue_that_was_killed_and_started_again(queue: Queue, context: zmq.Context[Any]) -> None:
    client = connected(context, queue.port, REQ_RELAXED=1, REQ_CORRELATE=1)
    client.send(get(1))
    assert document(client.recv()) == "document-1"
    queue.process.kill()
    queue.process.wait()
    client.send(get(2))
    queue.start()
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not client.poll(500):
        assert time.monotonic() < deadline
        client.send(get(2))
    assert document(client.recv()) == "document-2"


def test_a_client_that_does_not_read_delays_no_other(queue: Queue, context: zmq.Context[Any]) -> None:
    deaf = connected(context, queue.port, zmq.DEALER, RCVHWM=1, RCVBUF=4096)
    for _ in range(2000):
        deaf.send_multipart([b"", get(1)])
    client = connected(context, queue.port)
    for _ in range(20):
        client.send(get(2))
        assert document(client.recv()) == "document-2"


def test_the_load_generator_against_a_socket_of_libzmq(context: zmq.Context[Any], tmp_path: Path) -> None:
    server = context.socket(zmq.REP)
    port = server.bind_to_random_port("tcp://127.0.0.1")
    seen: list[bytes] = []

    def serve() -> None:
        while (request := server.recv()) != b"stop":
            seen.append(request)
            server.send_multipart([b'{"n":', request, b"}"])
        server.send(b"")

    thread = threading.Thread(target=serve)
    thread.start()
    plan = {
        "target": f"tcp://127.0.0.1:{port}",
        "protocol": "zmq",
        "closed": {"clients": 5},
        "duration_s": 1,
        "operations": [
            {
                "name": "get",
                "body": "{n}",
                "fields": {"n": {"kind": "integer", "min": 1, "max": 9}},
                "expect": {"json": {"path": "n"}},
            }
        ],
    }
    file, out = tmp_path / "load.json", tmp_path / "out"
    file.write_text(json.dumps(plan))
    subprocess.run([stone_binary(), "load", "--plan", file, "--out", out], check=True, capture_output=True)
    client = connected(context, port)
    client.send(b"stop")
    client.recv()
    thread.join()
    counts = json.loads((out / "summary.json").read_text())["counts"]
    assert (counts["errors"], counts["timeouts"]) == (0, 0)
    assert counts["completed"] > 50 and counts["sent"] == len(seen)
    assert set(seen) == {str(number).encode() for number in range(1, 10)}
