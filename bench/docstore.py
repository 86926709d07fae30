"""Round trips through the docstore's queue, beside the same with ``pyzmq`` on both sides.

``make bench BENCH=docstore``. One client, then twenty, in a closed loop: ours (``stone load`` and
``stone serve docstore/queue``) and those of libzmq in Python (REQ in threads, and a REP that reads the store with
``http.client``), by turns, all over the same stand-in for CouchDB.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from bench.common import Row, report
from loadstone.infrastructure.binary import stone_binary

ROUNDS = 7
SECONDS = 2.0
CLIENTS = (1, 20)
DOCUMENTS = 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(*command: str, **variables: str) -> Iterator[None]:
    """A process that is killed at the end."""
    with subprocess.Popen(command, env=os.environ | variables, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def serve(port: int, store: int) -> None:
    """A REP socket of libzmq that reads a document for each message, as the study's queue does."""
    server = zmq.Context().socket(zmq.REP)
    server.bind(f"tcp://127.0.0.1:{port}")
    documents = http.client.HTTPConnection("127.0.0.1", store)
    while True:
        documents.request("GET", f"/documents/{json.loads(server.recv())['id']}")
        server.send(b'{"document":' + documents.getresponse().read() + b"}")


def ours(port: int, clients: int) -> float:
    """The mean round trip of our clients, in milliseconds."""
    plan = {
        "target": f"tcp://127.0.0.1:{port}",
        "protocol": "zmq",
        "closed": {"clients": clients},
        "warmup_s": 0.5,
        "duration_s": SECONDS,
        "operations": [
            {
                "name": "get",
                "body": '{"op":"get","id":"document-{n}"}',
                "fields": {"n": {"kind": "integer", "min": 1, "max": DOCUMENTS}},
                "expect": {"json": {"path": "document._id"}},
            }
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "load.json", Path(folder) / "out"
        file.write_text(json.dumps(plan))
        subprocess.run([stone_binary(), "load", "--plan", file, "--out", out], check=True, capture_output=True)
        summary = json.loads((out / "summary.json").read_text())
    if summary["counts"]["errors"]:
        raise SystemExit(f"errors: {summary['errors']}")
    mean: float = summary["latency_ms"]["service"]["mean"]
    return mean


def peers(port: int, clients: int) -> float:
    """The mean round trip of clients of libzmq, in milliseconds."""
    times_s: list[float] = []

    def client(context: zmq.Context[zmq.Socket[bytes]], number: int) -> None:
        requester = context.socket(zmq.REQ)
        requester.connect(f"tcp://127.0.0.1:{port}")
        end = time.monotonic() + SECONDS
        while (began := time.monotonic()) < end:
            requester.send(json.dumps({"op": "get", "id": f"document-{1 + number % DOCUMENTS}"}).encode())
            if b"_id" not in requester.recv():
                raise SystemExit("not a document")
            times_s.append(time.monotonic() - began)
            number += 7
        requester.close()

    with zmq.Context() as context:
        threads = [threading.Thread(target=client, args=(context, number)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return statistics.mean(times_s) * 1000


def rows() -> Iterator[Row]:
    """Both by turns over one store."""
    store, port, port_of_peer = free_port(), free_port(), free_port()
    listening = {"STONE_LISTEN": f"127.0.0.1:{port}", "STONE_NEED_COUCHDB": f"127.0.0.1:{store}"}
    stone, this = str(stone_binary()), [sys.executable, "-m", "bench.docstore"]
    with (
        running(stone, "couchdb", "--listen", f"127.0.0.1:{store}"),
        running(stone, "serve", "docstore/queue", **listening, STONE_TASK_SOCKET="rep"),
        running(*this, str(port_of_peer), str(store)),
    ):
        plan = {"couchdb": {"couchdb": f"127.0.0.1:{store}"}, "dataset": {"documents": DOCUMENTS}}
        seeding = [stone, "seed", "docstore", "--plan", "-"]
        subprocess.run(seeding, input=json.dumps(plan), text=True, check=True, capture_output=True)
        for clients in CLIENTS:
            pairs = [(ours(port, clients), peers(port_of_peer, clients)) for _ in range(ROUNDS)]
            mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
            yield Row(
                metric=f"mean round trip, {clients} client{'s' if clients > 1 else ''}",
                unit="ms",
                value=mine,
                low=min(own for own, _ in pairs),
                high=max(own for own, _ in pairs),
                peer="pyzmq",
                peer_value=theirs,
                ratio=mine / theirs,
                target="not slower",
                holds=mine <= theirs,
            )


def main() -> None:
    """Measure and report; with two ports be the peer's queue."""
    if len(sys.argv) == 3:
        serve(int(sys.argv[1]), int(sys.argv[2]))
    report("docstore", list(rows()), [f"medians of {ROUNDS} rounds; the store is the stand-in for CouchDB"])


if __name__ == "__main__":
    main()
