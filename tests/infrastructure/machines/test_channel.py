"""The channel to a node, on a node that does one thing wrong; what a machine makes of answers."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.machines import Machine, MachineLost, NodeError, frames
from loadstone.infrastructure.machines.channel import Channel
from loadstone.model.records.node import protocol
from tests.infrastructure.machines.fakes import FakeTransport
from tests.support.users import wait

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "loadstone/infrastructure/machines/protocol.schema.json"


Made = Callable[[str], Machine]


@pytest.fixture
def machine() -> Iterator[Made]:
    made: list[Machine] = []

    def make(fault: str = "") -> Machine:
        made.append(Machine("worker-1", FakeTransport(fault)))
        return made[-1]

    yield make
    for channel in made:
        channel.close()


def test_the_schema_file_is_current() -> None:
    assert SCHEMA.read_text() == json.dumps(protocol.schema(), indent=2) + "\n", "`make docs` writes it"


@given(st.dictionaries(st.text(), st.integers() | st.text()), st.binary())
def test_frames_arrive_as_they_were_sent(args: dict[str, object], payload: bytes) -> None:
    frame = frames.read(io.BytesIO(frames.pack({"id": 1, "args": args}, payload)))
    assert frame is not None and (frame[0]["args"], frame[1]) == (args, payload)


@pytest.mark.parametrize(
    "text", [b"{}", b"what\n", b"[]\n", b'{"bytes": 5}\nfour', b'{"bytes": -1}\n', b"9" * (1 << 21)]
)
def test_what_is_no_frame_is_refused(text: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.read(io.BytesIO(text))


def test_a_command_runs_and_its_lines_are_followed(machine: Made) -> None:
    there, lines = machine(""), []
    done = there.run(
        ["sh", "-c", "cat; echo b; echo c >&2; exit 3"], given=b"a\n", follow=lambda *line: lines.append(line)
    )
    assert (done.code, done.stdout, done.stderr, done.complaint) == (3, "a\nb\n", "c\n", "c")
    assert lines == [("stdout", "a"), ("stdout", "b")]
    with pytest.raises(Exception, match=r"worker-1: `false` failed: exit code 1"):
        there.output(["false"])


def test_answers_find_their_requests_in_any_order(machine: Made) -> None:
    there, found = machine(""), {}

    def run(number: int) -> None:
        found[number] = there.run(["sh", "-c", f"sleep 0.{9 - number}; echo {number}"]).stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number}\n" for number in range(8)}


def test_files_go_and_come_in_pieces(machine: Made, tmp_path: Path) -> None:
    there, content = machine(""), bytes(range(256)) * 40_000  # 10 MB: three pieces
    (tmp_path / "file").write_bytes(content)
    there.put(tmp_path / "file", "/a")
    there.put(content[:5], "/b")
    there.put(b"", "/c")
    assert (there.get("/a"), there.get("/b"), there.get("/c")) == (content, content[:5], b"")


def test_a_file_that_was_damaged_is_noticed(machine: Made) -> None:
    there = machine("damage")
    there.put(b"text", "/a")
    with pytest.raises(MachineLost, match="worker-1: /a did not arrive as it was sent"):
        there.get("/a")


def test_the_nodes_own_error_has_its_kind_and_remedy(machine: Made) -> None:
    with pytest.raises(NodeError, match=r"worker-1: no file /x\n  put it there") as caught:
        machine("").get("/x")
    assert caught.value.kind == "missing"


def test_a_clock_that_is_ahead(machine: Made) -> None:
    assert machine("").clock_offset_s() == pytest.approx(90, abs=5)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("dies", r"worker-1: its node has ended with exit code 7: out of luck"),
        ("babbles", r"worker-1: its node does not keep to the protocol: no JSON"),
        ("no node", r"worker-1: what answers is no `stone node` of this release\n  see what its login writes"),
        ("refused", r"worker-1: sh: stone: Permission denied"),
        ("protocol", r"worker-1: its node speaks protocol 2, this release 1\n  rebuild"),
        ("release", r"worker-1: its node's answer to 'clock' is of another release: monotonic_ns"),
    ],
)
def test_a_node_that_fails_gives_one_clear_error(machine: Made, fault: str, message: str) -> None:
    with pytest.raises(MachineLost, match=message):
        machine(fault).clock()


def test_who_waits_learns_of_the_death(machine: Made) -> None:
    there = machine("dies")
    reasons = []

    def ask() -> None:
        try:
            there.run(["sleep", "60"])
        except MachineLost as error:
            reasons.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    wait(lambda: there._channel is not None and bool(there._channel._waiting))
    with pytest.raises(MachineLost):
        there.clock()
    thread.join(30)
    assert reasons and "exit code 7" in reasons[0]


def test_a_time_limit_ends_a_node_that_hangs() -> None:
    channel = Channel("worker-1", FakeTransport("hangs").command([]), FakeTransport().explain)
    with pytest.raises(MachineLost, match=r"worker-1: its node did not answer 'clock' within 0.3 s"):
        channel.request("clock", {}, within_s=0.3)
    assert "did not answer 'clock'" in channel.loss()
    with pytest.raises(MachineLost, match="did not answer 'clock'"):
        channel.request("clock", {})


def test_a_node_that_never_speaks_is_given_up() -> None:
    with pytest.raises(MachineLost, match=r"worker-1: no answer within 0.3 s"):
        Channel("worker-1", FakeTransport("silent").command([]), FakeTransport().explain, within_s=0.3)


def test_after_a_loss_it_is_reached_anew(machine: Made) -> None:
    there = machine("dies")
    with pytest.raises(MachineLost):
        there.clock()
    died = ("worker-1: its node has ended with exit code 7: out of luck",)
    assert there.losses == died
    assert there.run(["echo", "again"]).stdout == "again\n"
    os.kill(there.hello.pid, signal.SIGKILL)
    wait(lambda: len(there.losses) == 2)
    assert there.losses == (*died, "worker-1: its node has ended (killed by signal 9)")


def test_a_channel_that_is_closed_is_not_lost(machine: Made) -> None:
    there = machine("")
    assert there.run(["echo", "once"]).stdout == "once\n"
    there.close()
    assert there.run(["echo", "again"]).stdout == "again\n"
    assert there.losses == ()


def test_no_node_outlives_the_process_that_reached_it() -> None:
    script = (
        "from loadstone.infrastructure import machines; from loadstone.model.cluster import Reach\n"
        f"from {FakeTransport.__module__} import FakeTransport\n"
        "machines.transport = lambda reach: FakeTransport('lingers')\n"
        "print(machines.connect('worker-1', Reach()).hello.pid)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_a_transport_that_is_not_installed() -> None:
    with pytest.raises(MachineLost, match="worker-1: /no/ssh cannot be started: No such file"):
        Channel("worker-1", ["/no/ssh"], FakeTransport().explain)
