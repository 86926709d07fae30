"""A hostile application: answers without an end, commands for terminals, a log of gigabytes. Memory stays bounded."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure.machines import connect
from loadstone.model.cluster import Reach
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs
from tests.support import groups
from tests.support.users import LOADSTONE, wait

pytestmark = [pytest.mark.system, pytest.mark.long]

MOST_MB = 128
"""The most memory of the generator and of the desk, many times what they need for a harmless application."""
WITHIN_S = 90
LOG_MB = 200
FORKS = 500
COMMANDS = re.compile(r"\x1b[\[\]](?![0-9;]*m|\?25[hl])")
"""Escape codes that are neither styles nor the cursor's."""

Send = Callable[[bytes], None]


def endless_headers(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while True:
        send(b"X-%d: %b\r\n" % (number, b"a" * 8000))
        number += 1


def endless_line(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        send(b"a" * 65536)


def endless_body(send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        send(b"10000\r\n" + b"a" * 65536 + b"\r\n")


def one_byte_at_a_time(send: Send) -> None:
    while True:
        send(b"H")
        time.sleep(0.5)


def escape_codes(send: Send) -> None:
    send(b"HTTP/1.1 500 \x1b]0;owned\x07\x1b[2J\r\nContent-Length: 0\r\n\r\n")


def no_http(send: Send) -> None:
    send(b"\x1b[2J\x1b]0;owned\x07" * 10 + b"\r\n\r\n")


@contextmanager
def server(answer: Callable[[Send], None]) -> Iterator[int]:
    """The port of a server that answers each request so, until its client has had enough."""

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                answer(connection.sendall)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "answer", [endless_headers, endless_line, endless_body, one_byte_at_a_time, escape_codes, no_http]
)
def test_a_load_of_hostile_answers_ends_in_time_and_in_bounded_memory(answer: Callable[[Send], None]) -> None:
    with server(answer) as port:
        command = [LOADSTONE, "load", f"http://127.0.0.1:{port}/", "--rate", "20", "--duration", "5s"]
        began, peak = time.monotonic(), 0
        process = subprocess.Popen(
            [*command, "--slo", "p99=50ms"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        while process.poll() is None:
            assert time.monotonic() - began < WITHIN_S, "it hangs"
            peak = max(peak, memory(process.pid))
            time.sleep(0.1)
        elapsed = time.monotonic() - began
        assert process.stdout is not None
        output = process.stdout.read()
    print(f"hostile: {answer.__name__}: exit {process.returncode}, {peak >> 20} MB at most, {elapsed:.0f} s")
    assert process.returncode in (4, 5), output  # invalid or not held: nothing was answered well
    assert peak >> 20 < MOST_MB
    assert not COMMANDS.search(output) and "Traceback" not in output


def memory(desk: int) -> int:
    """Bytes of the generator that the desk started."""
    try:
        return sum(child.memory_info().rss for child in psutil.Process(desk).children(recursive=True))
    except psutil.NoSuchProcess:
        return 0


@pytest.mark.parametrize("line", ["y", "y" * 1_000_000])
def test_the_end_of_a_huge_log_is_read_without_the_rest(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path / "data"))
    (tmp_path / "line").write_text(line)
    script = (
        f'yes "$(cat {tmp_path}/line | head -c 100000)" | head -c {LOG_MB}000000; echo; echo the end; exec sleep 1000'
    )
    machine = connect("this machine", Reach())
    machine.begin("hostile-log", "1", "tests")
    try:
        machine.spawn(SpawnArgs(deployment="hostile-log", name="web-1", argv=("sh", "-c", script)))
        wait(lambda: machine.log("hostile-log", "web-1", 1).endswith("the end\n"))
        before = psutil.Process().memory_info().rss
        text = machine.log("hostile-log", "web-1", 200)
        grown = psutil.Process().memory_info().rss - before
        node = max(child.memory_info().rss for child in psutil.Process().children() if "stone" in child.name())
    finally:
        machine.end("hostile-log")
        machine.close()
    print(f"hostile: a log of {LOG_MB} MB: {len(text)} bytes read, desk +{grown >> 20} MB, node {node >> 20} MB")
    assert text.endswith("the end\n") and len(text) <= 1 << 18
    assert grown >> 20 < 32 and node >> 20 < MOST_MB


@pytest.mark.root
@pytest.mark.parametrize("limited", ["the replica", "the hosts"])
def test_a_fork_bomb_stays_below_its_limit_and_is_removed(
    limited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path / "data"))
    machine = connect("this machine", Reach())
    own, all_ = NodeLimits(cpu=0.3, memory=128 << 20), NodeLimits(pids=FORKS)
    begun = machine.begin("hostile-forks", "1", "tests", all_ if limited == "the hosts" else None)
    assert begun.group is not None, begun.unlimited_because
    own = own.model_copy(update={"pids": FORKS}) if limited == "the replica" else own
    try:
        script = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
        argv = ("python3", "-c", script)
        machine.spawn(SpawnArgs(deployment="hostile-forks", name="bomb", argv=argv, limits=own))
        places = groups.folders(begun.group)
        most = 0
        for _ in range(50):
            most = max(most, len(groups.processes(places)))
            time.sleep(0.1)
        machine.begin("hostile-neighbour", "1", "tests")
        assert machine.run(["true"]).code == 0, "others can start programs"
        machine.end("hostile-neighbour")
    finally:
        began = time.monotonic()
        machine.end("hostile-forks")
        elapsed = time.monotonic() - began
        machine.close()
    print(f"hostile: a fork bomb limited by {limited}: {most} processes at most, removed in {elapsed:.1f} s")
    assert FORKS // 2 < most <= FORKS and groups.folders(begun.group) == []
