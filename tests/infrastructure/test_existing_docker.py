"""Which engine a user means, and what becomes of what it says of itself and its swarm."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.software.docker import context
from loadstone.model.cluster import Cluster, Reach
from loadstone.model.errors import PreflightError

INFO: dict[str, Any] = {
    "Name": "desk",
    "NCPU": 4,
    "MemTotal": 8 * 2**30,
    "KernelVersion": os.uname().release,
    "Swarm": {"LocalNodeState": "active", "ControlAvailable": True, "NodeID": "a"},
}


@pytest.fixture
def own_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any settings of Docker's."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / ".docker"))
    return tmp_path / ".docker"


def add_context(folder: Path, name: str, host: str, certificates: bool = False) -> None:
    """As `docker context create` does."""
    identity = hashlib.sha256(name.encode()).hexdigest()
    place = folder / "contexts" / "meta" / identity
    place.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": False}
    (place / "meta.json").write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    if certificates:
        secrets = folder / "contexts" / "tls" / identity / "docker"
        secrets.mkdir(parents=True)
        for file in ("ca.pem", "cert.pem", "key.pem"):
            (secrets / file).write_text("")


def test_the_variable_comes_before_the_context_before_what_is_chosen(
    own_docker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert context.current().url == "unix:///var/run/docker.sock"
    add_context(own_docker, "lab", "ssh://me@lab")
    add_context(own_docker, "other", "tcp://10.0.0.7:2375")
    (own_docker / "config.json").write_text('{"currentContext": "lab"}')
    assert context.current().url == "ssh://me@lab"
    monkeypatch.setenv("DOCKER_CONTEXT", "other")
    assert context.current().url == "tcp://10.0.0.7:2375"
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/mine.sock")
    assert context.current().url == "unix:///run/mine.sock"


def test_contexts_that_cannot_be_used_say_what_to_do(own_docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    with pytest.raises(PreflightError, match="no Docker context 'nowhere'\n  `docker context ls`"):
        context.current()
    add_context(own_docker, "secret", "tcp://10.0.0.7:2376", certificates=True)
    monkeypatch.setenv("DOCKER_CONTEXT", "secret")
    with pytest.raises(PreflightError) as caught:
        context.current()
    line = str(caught.value).splitlines()[1]
    assert line.startswith("  export DOCKER_HOST=tcp://10.0.0.7:2376 DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=")
    assert (Path(line.rpartition("=")[2]) / "cert.pem").exists()


def node(name: str, identity: str, role: str = "worker", availability: str = "active", state: str = "ready") -> Any:
    return {
        "ID": identity,
        "Spec": {"Role": role, "Availability": availability},
        "Description": {"Hostname": name, "Resources": {"NanoCPUs": 2 * 10**9, "MemoryBytes": 2**30}},
        "Status": {"State": state, "Addr": f"10.0.0.{ord(identity)}"},
        **({"ManagerStatus": {"Addr": f"10.0.1.{ord(identity)}:2377"}} if role == "manager" else {}),
    }


def engine(monkeypatch: pytest.MonkeyPatch, url: str, nodes: list[Any] | None = None, **info: Any) -> None:
    """The current engine says this."""
    api = SimpleNamespace(
        info=lambda: {**INFO, **info}, nodes=lambda: nodes or [], version=lambda: {"Version": "28.0.0"}
    )
    fake = Engine(url)
    fake.__dict__["api"] = api
    monkeypatch.setattr(context, "current", lambda: fake)
    monkeypatch.setattr(context, "_cores_of", lambda path: (2, 3, 6, 7))


@pytest.mark.parametrize(
    ("url", "info", "address", "here", "cpus"),
    [
        ("unix:///run/docker.sock", {}, "127.0.0.1", True, (2, 3, 6, 7)),
        ("unix:///run/docker.sock", {"KernelVersion": "6.6-linuxkit"}, "127.0.0.1", False, (0, 1, 2, 3)),
        ("unix:///run/docker.sock", {"NCPU": 2}, "127.0.0.1", True, (0, 1)),
        ("tcp://localhost:2375", {}, "127.0.0.1", True, (0, 1, 2, 3)),
        ("tcp://10.0.0.7:2375", {}, "10.0.0.7", False, (0, 1, 2, 3)),
        ("ssh://me@lab", {}, "lab", False, (0, 1, 2, 3)),
    ],
)
def test_an_engine_is_a_node(
    url: str, info: dict[str, Any], address: str, here: bool, cpus: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(monkeypatch, url, **info)
    provision = Existing(Cluster(), "test").provide("docker", 0, lambda _: None)
    client, worker = provision.nodes
    assert (worker.name, worker.role, worker.address) == ("desk", "worker", address)
    assert (worker.reach.local, worker.cpus, client.shared) == (here, cpus, here)
    assert provision.access is not None and provision.access.engines == {"desk": url}


def test_a_swarm_s_nodes_are_workers_where_they_take_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        node("desk", "a", "manager"),
        node("boss", "b", "manager", "drain"),
        node("far", "c"),
        node("resting", "d", "worker", "drain"),
        node("broken", "e", "worker", state="down"),
    ]
    engine(monkeypatch, "unix:///run/docker.sock", nodes)
    existing = Existing(Cluster(registry="registry.example.org/me"), "test")
    provision = existing.provide("swarm", 2, lambda _: None)
    shown = [(each.name, each.role, each.address, each.reach) for each in provision.nodes[1:]]
    assert shown == [
        ("boss", "manager", "10.0.1.98", Reach(transport="ssh", options={"host": "boss"})),
        ("desk", "worker", "127.0.0.1", Reach()),
        ("far", "worker", "10.0.0.99", Reach(transport="ssh", options={"host": "far"})),
    ]
    assert provision.access is not None
    assert provision.access.engines == {"desk": "unix:///run/docker.sock"}
    assert [each.message for each in existing.preflight("swarm", 2)][-1] == "desk, far: 6 cores, 9.0 GiB"
    assert existing.sketch("swarm", 2)[1:] == list(provision.nodes[1:])  # the memory of this machine changes


def labelled(listed: Any) -> Any:
    return {**listed, "Spec": {**listed["Spec"], "Labels": {"loadstone.role": "client"}}}


def test_a_swarm_s_labelled_nodes_are_clients_drained_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        node("desk", "a", "manager"),
        labelled(node("load-1", "b")),
        labelled(node("load-2", "c", availability="drain")),
    ]
    engine(monkeypatch, "unix:///run/docker.sock", nodes)
    provision = Existing(Cluster(), "test").provide("swarm", 1, lambda _: None)
    assert [(each.name, each.role, each.reach.transport) for each in provision.nodes] == [
        ("load-1", "client", "ssh"),
        ("load-2", "client", "ssh"),
        ("desk", "worker", "here"),
    ], "and this machine is none"
    engine(monkeypatch, "unix:///run/docker.sock", [labelled(nodes[0]), node("far", "d")])
    with pytest.raises(PreflightError, match=r"it is this machine.*\n  docker node update --label-rm loadstone\.role"):
        Existing(Cluster(registry="r.example.org"), "test").provide("swarm", 1, lambda _: None)


THREE_MANAGERS = [node("desk", "a", "manager"), *(node(f"m{n}", n, "manager", "drain") for n in "bc")]


@pytest.mark.parametrize(
    ("cluster", "managers", "nodes", "message"),
    [
        ({}, 1, [node("desk", "a", "manager"), node("far", "c")], "images cannot be loaded into far from here"),
        ({"workers": 2}, 1, [node("desk", "a", "manager")], "your cluster has 1, the study needs 2"),
        ({}, 3, [node("desk", "a", "manager")], "managers: your cluster has 1, the study needs 3"),
        ({}, 1, THREE_MANAGERS, "managers: your cluster has 3, the study needs 1\n  set cluster.managers: 3"),
        ({}, 1, [node("desk", "a", "manager", "drain")], "no node of your cluster runs replicas now"),
        ({"registry": "r.example.org"}, 1, [node("x", "a", "manager"), node("x", "c")], "2 nodes are called x"),
    ],
)
def test_what_does_not_fit_is_refused(
    cluster: dict[str, Any], managers: int, nodes: list[Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(monkeypatch, "unix:///run/docker.sock", nodes)
    existing = Existing(Cluster(infrastructure="existing", **cluster), "test")
    (found,) = [finding for finding in existing.preflight("swarm", managers) if finding.level == "error"]
    assert message in f"{found.message}\n  {found.remedy}" and found.remedy
    with pytest.raises(PreflightError, match=message):
        existing.provide("swarm", managers, lambda _: None)


@pytest.mark.parametrize(
    ("swarm", "message"),
    [
        ({"LocalNodeState": "inactive"}, r"is in no swarm \(its state: inactive\)\n  make one \(docker swarm init\)"),
        (
            {"LocalNodeState": "active", "ControlAvailable": False, "RemoteManagers": [{"Addr": "10.0.0.1:2377"}]},
            r"is a worker of its swarm\n  talk to a manager .* at 10\.0\.0\.1:2377",
        ),
    ],
)
def test_an_engine_that_manages_no_swarm(swarm: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(monkeypatch, "unix:///run/docker.sock", Swarm=swarm)
    with pytest.raises(PreflightError, match=message):
        Existing(Cluster(), "test").provide("swarm", 1, lambda _: None)
    assert Existing(Cluster(), "test").preflight("swarm", 1)[-1].level == "error"


def test_a_sketch_needs_no_engine(own_docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    client, first, second = Existing(Cluster(workers=2), "test").sketch("swarm", 1)
    assert (client.role, first.name, second.name, second.role) == ("client", "worker-1", "worker-2", "worker")
    (found,) = Existing(Cluster(), "test").preflight("docker", 0)
    assert found.message == "no Docker engine at unix:///nowhere.sock: there is no such socket"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("unix:///nowhere.sock", "there is no such socket"),
        ("tcp://127.0.0.1:1", "nothing listens there"),
        ("tcp://nowhere.invalid:2375", "its name is not known"),
    ],
)
def test_why_an_engine_does_not_answer(url: str, reason: str) -> None:
    assert (Engine(url).silence() or "").splitlines()[0] == f"no Docker engine at {url}: {reason}"
