"""The same control group read by a machine's node and by an agent; what neither can read; agents that misbehave."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from loadstone.infrastructure import cgroup
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.cgroup import Cgroups, Limits
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Found
from loadstone.model.errors import PreflightError
from loadstone.model.records import AuditRow
from loadstone.model.records.node import InForce, Standing, Used
from loadstone.orchestration.auditing import audit_container
from loadstone.orchestration.reading import Agents, Everywhere, MachineReader
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support.standings import standing

MIB = 2**20
GEO = "0123456789abcdef" * 4
OTHER = "a" * 64
COUNTERS = {
    "cpu_s": 2.5, "periods": 10, "throttled_periods": 4, "throttled_s": 0.3,
    "memory": 4096, "memory_peak": None, "oom_kills": 0, "pids": 2,
}  # fmt: skip


def replica(name: str = "geo-1", node: str = "worker-1", container: str = GEO, why: str = "") -> Found:
    return Found(
        name=name, service=name[:-2], node=node, state="running", healthy=not why, why=why, container=container
    )


def worker(name: str = "worker-1", here: bool = False, cores: tuple[int, ...] = (0, 1)) -> Node:
    return Node(name=name, role="worker", address="127.0.0.1", cpus=cores, memory=2**33, here=here)


def audited(found: Found, standing: Standing, node: Node) -> list[AuditRow]:
    deployment = deployed(parse(SERVICES), [two_nodes()[0], node])
    return audit_container(found, deployment.of("geo")[0], deployment, standing)


class Emulation:
    """An agent that says what a test wants: by path, a status and a body."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []
        emulation = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                emulation.asked.append(f"{self.command} {self.path}")
                status, body = emulation.answers.get(self.path, (404, "404 page not found"))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"


@pytest.fixture
def emulation() -> Iterator[Emulation]:
    one = Emulation()
    Thread(target=one.server.serve_forever).start()
    yield one
    one.server.shutdown()
    one.server.server_close()


def test_what_an_agent_says_is_a_reading(emulation: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # a proxy for the web does not lead to a node
    said = {
        GEO: {"found": True, "limits": {"cpu": 0.25, "memory": 32 * MIB, "cores": [0, 1]}, "usage": COUNTERS},
        OTHER: {
            "found": True,
            "limits": {"cpu": None, "memory": None, "cores": None},
            "usage": {**COUNTERS, "pids": 0},
        },
    }
    emulation.answers[f"/containers/{GEO},{OTHER}"] = (200, json.dumps(said))
    agents = Agents(lambda: {"worker-1": emulation.address})
    ended = replica("rate-1", container=OTHER)
    readings = agents.read([replica(), ended, replica("user-1", container="")])
    assert readings == {
        "geo-1": standing(InForce(cpu=0.25, memory=32 * MIB, cores=(0, 1)), Used(**COUNTERS)),
        "rate-1": standing(InForce(cpu=None, memory=None, cores=None), Used(**{**COUNTERS, "pids": 0})),
        "user-1": Standing.nothing("it has no container"),
    }
    assert emulation.asked == [f"GET /containers/{GEO},{OTHER}"]
    assert all(row.ok for row in audited(replica(), readings["geo-1"], worker()))
    (row,) = audited(ended, readings["rate-1"], worker())
    assert (row.what, row.effective, row.ok) == ("container", "no process of it runs", False)


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, {GEO: {"found": False}}, "no control group of its container is on worker-1"),
        (200, {GEO: {"found": True, "problem": "open x: no"}}, "its control group cannot be read: open x: no"),
        (200, {GEO: {"found": True, "limits": {}}}, "the agent of worker-1 is of another version: ValidationError"),
        (200, {}, "the agent of worker-1 is of another version: TypeError"),
        (200, [], "what answers at ADDRESS is no agent of worker-1"),
        (503, "busy", 'the agent of worker-1 at ADDRESS answers 503: "busy"'),
    ],
)
def test_what_cannot_be_read_is_a_mismatch_that_says_why(
    emulation: Emulation, status: int, body: object, why: str
) -> None:
    emulation.answers[f"/containers/{GEO}"] = (status, json.dumps(body))
    reading = Agents(lambda: {"worker-1": emulation.address}).read([replica()])["geo-1"]
    assert reading == Standing.nothing(why.replace("ADDRESS", emulation.address))
    (row,) = audited(replica(), reading, worker())
    assert not row.ok and (row.what, row.wanted, row.effective) == ("container", "running", reading.absent)
    (row,) = audited(replica(why="starting"), reading, worker())
    assert row.effective == f"starting; {reading.absent}"


def test_no_agent_another_server_and_nobody(emulation: Emulation) -> None:
    emulation.answers["/healthz"] = (200, "hello")
    agents = Agents(lambda: {"worker-1": emulation.address, "worker-2": "127.0.0.1:1"})
    assert agents.silent(["worker-1", "worker-2", "worker-3"]) == {
        "worker-1": f"what answers at {emulation.address} is no agent of worker-1",
        "worker-2": "the agent of worker-2 at 127.0.0.1:1 does not answer: Connection refused",
        "worker-3": "worker-3 has no agent",
    }
    emulation.answers["/healthz"] = (200, '{"alive": true}')
    assert agents.silent(["worker-1"]) == {}
    assert agents.read([replica(node="worker-3")])["geo-1"].absent == "worker-3 has no agent"


def test_many_containers_are_asked_about_in_parts(emulation: Emulation) -> None:
    found = [replica(f"geo-{number}", container=f"{number:064x}") for number in range(1, 151)]
    for some in (found[:100], found[100:]):
        answer = {one.container: True for one in some}
        emulation.answers["/peaks/" + ",".join(answer)] = (200, json.dumps(answer))
    agents = Agents(lambda: {"worker-1": emulation.address})
    assert agents.new_peaks(found)
    assert sorted(question.count(",") for question in emulation.asked) == [49, 99]
    assert not agents.new_peaks([*found, replica("rate-1", container=OTHER)])


def test_each_is_read_on_its_machine_or_by_its_agent(emulation: Emulation, tmp_path: Path) -> None:
    emulation.answers[f"/containers/{GEO}"] = (200, json.dumps({GEO: {"found": False}}))
    agents = Agents(lambda: {"worker-2": emulation.address})
    options = {"host": "127.0.0.1", "config": str(tmp_path / "none")}
    unreachable = worker("worker-4").model_copy(update={"reach": Reach(transport="ssh", options=options)})
    everywhere = Everywhere([worker(here=True), worker("worker-2"), unreachable], agents)
    found = [replica(f"{name}-1", node=f"worker-{number}") for number, name in enumerate("abce", 1)]
    readings = everywhere.read([*found, replica("d-1", node="")])
    assert {name: standing.absent for name, standing in readings.items()} == {
        "a-1": "no control group of it is on this machine",
        "b-1": "no control group of its container is on worker-2",
        "c-1": "it is on 'worker-3', no node of this cluster",
        "d-1": "it has no node",
        "e-1": f"127.0.0.1: Can't open user config file {tmp_path}/none: No such file or directory",
    }
    for one in found:
        assert not everywhere.new_peaks([one])
    assert not everywhere.new_peaks([])


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    """A real agent of this machine; its address."""
    try:
        binary = stone_binary()
    except PreflightError as error:
        pytest.skip(str(error))
    command = [binary, "agent", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if (listening := re.match(r"listening on (\S+)", line)) is None:
            pytest.skip(f"no agent: {line}")
        yield listening.group(1)
        process.terminate()


@pytest.fixture
def container() -> Iterator[tuple[Cgroups, str, str]]:
    """Control groups, a container's id and its group with limits and two processes, as an engine makes it."""
    groups = cgroup.find()
    if problem := groups.problem():
        pytest.skip(problem)
    identity, top = os.urandom(32).hex(), f"loadstone-test-reading-{os.getpid()}"
    group = f"{top}/docker-{identity}.scope"
    groups.make(group, Limits(cpu=0.25, memory=32 * MIB, cores=(min(os.sched_getaffinity(0)),)))
    joining = "".join(f"echo $$ >{file}; " for file in groups.joining(group))
    shell = ["/bin/sh", "-ec", f"{joining} sleep 1000 & echo; exec sleep 1000"]
    with subprocess.Popen(shell, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"\n"
        yield groups, identity, group
        groups.kill(top)
    groups.remove(top)


@pytest.mark.root
def test_both_ways_say_the_same(container: tuple[Cgroups, str, str], agent: str) -> None:
    groups, identity, group = container
    found = replica(container=identity)
    here, agents = MachineReader([worker()]), Agents(lambda: {"worker-1": agent})
    (one,), (other,), (later,) = (reader.read([found]).values() for reader in (here, agents, here))
    assert one.limits == other.limits
    assert one.usage is not None and other.usage is not None and later.usage is not None
    assert one.usage.pids == other.usage.pids == 2 and one.usage.memory > 0 < other.usage.memory
    for counter in COUNTERS.keys() - {"memory", "pids"}:  # they never decrease, and may grow while we read
        first, between, last = (getattr(usage, counter) for usage in (one.usage, other.usage, later.usage))
        assert first == between == last or first <= between <= last, counter
    cores = one.limits.cores if one.limits is not None else None
    assert cores is not None and len(cores) == 1
    node = worker(cores=cores)
    assert audited(found, one, node) == audited(found, other, node)
    assert [(row.what, row.effective, row.ok) for row in audited(found, other, node)] == [
        ("cpu", "0.25", True), ("memory", "32MiB", True), ("cores", str(cores[0]), True), ("node", "worker-1", True),
    ]  # fmt: skip
    assert agents.new_peaks([found]) == here.new_peaks([found])

    groups.make(group, Limits(cpu=0.25))  # the limit of its memory is switched off
    (one,), (other,) = here.read([found]).values(), agents.read([found]).values()
    assert one.limits == other.limits
    assert [row.what for row in audited(found, other, node) if not row.ok] == ["memory", "cores"]

    groups.kill(group)
    (one,), (other,) = here.read([found]).values(), agents.read([found]).values()
    assert one.limits == other.limits and one.limits is not None and one.limits.cores is None
