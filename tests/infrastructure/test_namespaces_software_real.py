"""Docker engines and swarms on emulated hosts, for real; what is left when their creator is killed."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import connect, this_machine
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.software.docker import engines
from loadstone.model.cluster import Cluster, Link
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.replicas import InForce, Subject
from tests.support import groups
from tests.traces import MACHINE, snapshot

pytestmark = [pytest.mark.root, pytest.mark.docker]

ENTRY = "test-cluster"
LONG = pytest.mark.long
MAKER = """
import os, signal, sys
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.model.cluster import Cluster

def say(step):
    if step.startswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

Namespaces(Cluster(workers=2), sys.argv[2]).provide("swarm", 3, say)
say("ready")
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where everything is kept; afterwards nothing may be left anywhere of any cluster that was in the journal."""
    findings = Namespaces(Cluster(), ENTRY).preflight("swarm", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    before, ids, forget = snapshot(), [], journal.forget

    def forgotten(name: str) -> None:
        entry = journal.load(name)
        ids.append(entry.facts["id"] if entry else "")
        forget(name)

    monkeypatch.setattr(journal, "forget", forgotten)
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:  # pytest's own are too long for a socket
        place = Path(name)
        monkeypatch.setenv("LOADSTONE_STATE", f"{name}/state")
        monkeypatch.setenv("LOADSTONE_DATA", f"{name}/data")
        try:
            yield place
        finally:
            journal.remove_all()
        assert ids
        for mark in ids:
            left = snapshot(mark, (place,))
            assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}
        after = snapshot()
        assert {kind: after[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}
        assert [path for path in place.glob("data/**/*") if not path.is_dir()] == []


def emulated(name: str = ENTRY) -> EmulatedHosts:
    """The hosts that the journal knows, as a later process finds them."""
    entry = journal.load(name)
    assert entry is not None
    return EmulatedHosts.of(entry.facts)


def engine_process(host: Host) -> int:
    """The id of the engine's process, as the host's journal has it."""
    found = connect(host.name, host.reach).deployment("cluster")
    assert found is not None
    return next(process.pid for process in found.processes if process.name == engines.DAEMON)


def clients(access: Access) -> dict[str, docker.DockerClient]:
    return {name: docker.DockerClient(base_url=url, timeout=120) for name, url in access.engines.items()}


def load_stone(client: docker.DockerClient, folder: Path) -> None:
    """An image of nothing but the stone binary."""
    archive = folder / "stone.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(stone_binary(), "stone")
    client.api.import_image_from_file(str(archive), repository="stone", tag="test", changes=['ENTRYPOINT ["/stone"]'])


def status(address: str, port: int) -> int:
    """What a server that starts now answers, once it does."""
    while True:
        connection = http.client.HTTPConnection(address, port, timeout=120)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status
        except ConnectionError:
            continue
        finally:
            connection.close()


def test_an_engine_on_each_worker(folder: Path) -> None:
    infrastructure = Namespaces(Cluster(workers=2), ENTRY)
    provision = infrastructure.provide("docker", 0, lambda _: None)
    access = provision.access
    assert access is not None
    assert [(node.name, node.role, node.emulated) for node in provision.nodes] == [
        ("client", "client", False),
        ("worker-1", "worker", True),
        ("worker-2", "worker", True),
    ]
    assert (list(access.engines), access.addresses) == (["worker-1", "worker-2"], tuple(access.engines.values()))
    assert access.cluster == ENTRY
    first, second = clients(access).values()
    assert (first.info()["Name"], second.info()["Name"]) == ("worker-1", "worker-2")

    load_stone(first, folder)
    assert second.images.list() == []  # engines share nothing
    container = first.containers.run(
        "stone:test", ["echo", "--listen", "0.0.0.0:8080"], detach=True, ports={"8080/tcp": 8080}, nano_cpus=10**8
    )
    assert status(provision.nodes[1].address, 8080) == 200
    host = emulated().hosts[0]
    pid = first.api.inspect_container(container.id)["State"]["Pid"]
    assert pid in groups.processes(groups.folders(host.containers))
    (standing,) = this_machine().read(["limits"], {"echo": Subject(container=container.id)}).values()
    assert standing.limits == InForce(cpu=0.1, memory=None, cores=provision.nodes[1].cpus)

    infrastructure.release()  # with the container in it
    assert journal.entries() == []
    infrastructure.release()


def test_a_swarm_of_three_managers_and_two_workers(folder: Path) -> None:
    infrastructure = Namespaces(Cluster(workers=2), ENTRY)
    printed: list[str] = []
    provision = infrastructure.provide("swarm", 3, printed.append)
    access = provision.access
    assert access is not None
    assert printed == [
        "making 5 emulated hosts",
        "starting 5 Docker engines",
        "joining 5 engines to a swarm",
    ]
    assert len(access.addresses) == 3
    manager = docker.DockerClient(base_url=access.addresses[2], timeout=120)
    nodes = {node.attrs["Description"]["Hostname"]: node.attrs for node in manager.nodes.list()}
    assert sorted(nodes) == [node.name for node in provision.nodes[1:]]
    assert {name: node["Spec"]["Labels"] for name, node in nodes.items()} == {
        name: {"loadstone.node": name} for name in nodes
    }
    assert {name: (node["Status"]["State"], node["Spec"]["Availability"]) for name, node in nodes.items()} == {
        **{f"manager-{number}": ("ready", "drain") for number in (1, 2, 3)},
        **{f"worker-{number}": ("ready", "active") for number in (1, 2)},
    }
    assert {node["Status"]["Addr"] for node in nodes.values()} == {node.address for node in provision.nodes[1:]}

    for client in clients(access).values():
        load_stone(client, folder)
    manager.services.create(
        "stone:test",
        args=["echo", "--listen", "0.0.0.0:8080"],
        mode=docker.types.ServiceMode("replicated", 2),
        endpoint_spec=docker.types.EndpointSpec("dnsrr", {8080: (8080, "tcp", "host")}),  # one a node, then
    )
    service = manager.services.list()[0]
    states: list[str] = []
    while states != ["running"] * 2:
        states = [task["Status"]["State"] for task in service.tasks()]
        assert not {"failed", "rejected"} & set(states)
    assert infrastructure.problems() == []
    assert [status(node.address, 8080) for node in provision.nodes if node.role == "worker"] == [200, 200]


def test_what_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    infrastructure = Namespaces(Cluster(workers=3), ENTRY)
    infrastructure.provide("docker", 0, lambda _: None)
    assert infrastructure.problems() == []
    down, ended, frozen = emulated().hosts
    down.stop()
    os.kill(engine_process(ended), signal.SIGKILL)
    monkeypatch.setattr(engines, "_ANSWER_WITHIN_S", 1)
    os.kill(engine_process(frozen), signal.SIGSTOP)  # it never answers
    while (found := infrastructure.problems())[1:2] != ["worker-2: dockerd has ended"]:
        assert found[0] == "worker-1: it is down"  # killing takes the kernel a moment
    assert found[2:] == ["worker-3: its engine does not answer"]


@pytest.mark.parametrize("step", [pytest.param("starting", marks=LONG), "joining", pytest.param("ready", marks=LONG)])
def test_nothing_is_left_of_a_maker_that_is_killed(step: str) -> None:
    killed = subprocess.run([sys.executable, "-c", MAKER, step, ENTRY], check=False)
    assert killed.returncode == -signal.SIGKILL
    cluster = emulated()
    there = snapshot(cluster.id)
    assert [kind for kind in ("processes", "groups", "namespaces", "links", "routes") if not there[kind]] == []
    assert journal.remove_all([ENTRY]) == [f"{ENTRY} (5 emulated hosts)"]
    assert journal.entries() == []


def test_who_comes_again_removes_what_was_left_first() -> None:
    subprocess.run([sys.executable, "-c", MAKER, "starting", ENTRY], check=False)
    first = emulated()
    printed: list[str] = []
    Namespaces(Cluster(workers=1), ENTRY).provide("docker", 0, printed.append)
    assert printed[0] == "removing the hosts of an earlier run"
    assert emulated().id != first.id
    assert snapshot(first.id)["namespaces"] == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.param(DeploymentError, marks=LONG)])
def test_who_is_interrupted_leaves_nothing(error: type[BaseException]) -> None:
    def say(step: str) -> None:
        if step.startswith("joining"):
            raise error("stop")

    with pytest.raises(error, match="stop"):
        Namespaces(Cluster(workers=1), ENTRY).provide("swarm", 1, say)
    assert journal.entries() == []


def test_an_engine_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = engines.settings
    monkeypatch.setattr(engines, "settings", lambda *given: {**settings(*given), "storage-driver": "zip"})
    with pytest.raises(DeploymentError, match=r"worker-1: dockerd has ended:\n(.|\n)*driver not supported"):
        Namespaces(Cluster(workers=1), ENTRY).provide("docker", 0, lambda _: None)
    assert journal.entries() == []


def test_two_clusters_at_once() -> None:
    first = Namespaces(Cluster(workers=1, link=Link(rate="100Mbit")), ENTRY)
    second = Namespaces(Cluster(workers=1), "other-cluster")
    here = first.provide("docker", 0, lambda _: None)
    there = second.provide("docker", 0, lambda _: None)
    assert not {node.address for node in here.nodes} & {node.address for node in there.nodes}
    limited, free = (
        emulated(name).hosts[0].run(["tc", "qdisc", "show", "dev", "eth0"]) for name in (ENTRY, "other-cluster")
    )
    assert "rate 100Mbit" in limited.stdout and "rate" not in free.stdout
    second.release()
    assert first.problems() == []
