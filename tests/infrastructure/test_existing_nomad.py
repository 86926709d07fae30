"""A Nomad cluster that a user has: its requirements, and the errors of a cluster that lacks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.software.nomad import found as nomad
from loadstone.model.cluster import Cluster
from loadstone.model.errors import PreflightError
from tests.infrastructure.answering import Answering, answering

CLUSTER = Cluster(infrastructure="existing")


def node(number: int, **more: str) -> dict[str, str]:
    return {
        "driver.docker": "1",
        "driver.docker.volumes.enabled": "true",
        "consul.version": "1.14.8",
        "cpu.numcores": "4",
        "cpu.totalcompute": "4000",
        "memory.totalbytes": str(2**33),
        "unique.network.ip-address": f"198.51.100.{number}",
        "kernel.version": "6.1",
        **more,
    }


def cluster(nodes: dict[str, dict[str, str]], **states: dict[str, Any]) -> dict[str, tuple[int, Any]]:
    listed = [
        {"Name": name, "ID": f"id-{name}", "Status": "ready", "SchedulingEligibility": "eligible", "Drain": False}
        | states.get(name, {})
        for name in nodes
    ]
    return {
        "/v1/nodes": (200, listed),
        "/v1/status/peers": (200, ["a", "b", "c"]),
        "/v1/status/leader": (200, "198.51.100.9:8300"),
        **{f"/v1/node/id-{name}": (200, detail(attributes)) for name, attributes in nodes.items()},
    }


def detail(attributes: dict[str, str], cores: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"Attributes": attributes, "NodeResources": {"Cpu": {"ReservableCpuCores": cores}}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    """Nomad and Consul at once."""
    with answering(cluster({"two": node(2), "one": node(1)})) as made:
        monkeypatch.setenv("NOMAD_ADDR", made.address + "/")
        monkeypatch.setenv("CONSUL_HTTP_ADDR", made.address.removeprefix("http://"))
        monkeypatch.delenv("NOMAD_NAMESPACE", raising=False)
        yield made


def test_its_nodes_become_workers(server: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMAD_NAMESPACE", "research")
    provision = nomad.find()
    assert [(each.name, each.role, each.address) for each in provision.nodes[1:]] == [
        ("one", "worker", "198.51.100.1"),
        ("two", "worker", "198.51.100.2"),
    ]
    assert provision.nodes[1].cpus == (0, 1, 2, 3) and provision.nodes[1].memory == 2**33
    way = {"software": "nomad", "address": server.address, "namespace": "research"}
    assert [each.reach.options for each in provision.nodes[1:]] == [way | {"node": name} for name in ("one", "two")]
    assert provision.access is not None and provision.access.addresses == (server.address,)
    assert provision.access.engines == {}
    assert provision.access.extra == {
        "consul": server.address,
        "namespace": "research",
        "mhz": "1000",
        "managers": "3",
    }


def test_nodes_that_take_nothing_are_left_out(server: Answering) -> None:
    nodes = {name: node(number) for number, name in enumerate(["down", "drained", "closed", "good"])}
    server.answers |= cluster(
        nodes,
        down={"Status": "down"},
        drained={"Drain": True, "SchedulingEligibility": "ineligible"},
        closed={"SchedulingEligibility": "ineligible"},
    )
    assert [each.name for each in nomad.find().nodes[1:]] == ["good"]


def test_nodes_of_one_name_are_refused_and_none_is_left_out(server: Answering) -> None:
    _, listed = server.answers["/v1/nodes"]
    server.answers["/v1/nodes"] = (200, [{**each, "Name": "localhost"} for each in listed])
    (finding,) = Existing(CLUSTER, "c").preflight("nomad", 3)
    assert (finding.level, finding.message) == ("error", "2 nodes are called localhost")
    assert finding.remedy.startswith("give each a name of its own")


def test_nodes_whose_metadata_say_so_are_clients(server: Answering) -> None:
    """What limits mean, and whether Consul is there, matters where replicas run."""
    alone = node(2, **{"cpu.totalcompute": "9000"})
    del alone["consul.version"]
    server.answers |= cluster({"one": node(1), "load": alone})
    _, there = server.answers["/v1/node/id-load"]
    server.answers["/v1/node/id-load"] = (200, there | {"Meta": {"loadstone.role": "client"}})
    provision = nomad.find()
    assert [(each.name, each.role) for each in provision.nodes] == [("load", "client"), ("one", "worker")]
    assert provision.access is not None and provision.access.extra["mhz"] == "1000"


def test_a_node_without_docker_gets_no_replicas_whatever_else_it_runs(server: Answering) -> None:
    bare = {**node(3, **{"driver.raw_exec": "1", "driver.exec": "1"}), "driver.docker": ""}
    server.answers |= cluster({"one": node(1), "bare": bare})
    (found,) = [finding for finding in nomad.check() if finding.level == "warning"]
    assert found.message == (
        "node bare has no docker driver, so nothing is placed there;"
        " raw_exec and exec apply no CPU limit and are refused for limited treatments"
    )
    assert [each.name for each in nomad.find().nodes[1:]] == ["one"]
    server.answers |= cluster({"bare": bare})
    errors = errors_of(Existing(CLUSTER, "test"))
    assert [finding.message for finding in errors] == ["no node of your cluster runs replicas now"]


def errors_of(infrastructure: Existing) -> list[Finding]:
    return [finding for finding in infrastructure.preflight("nomad", 3) if finding.level == "error"]


def test_one_limit_must_mean_the_same_on_all_nodes(server: Answering) -> None:
    server.answers |= cluster({"one": node(1), "two": node(2, **{"cpu.totalcompute": "9200"})})
    with pytest.raises(PreflightError, match=r"so many MHz: one 1000, two 2300\n  set cpu_total_compute"):
        nomad.find()
    server.answers |= cluster({"one": node(1, **{"cpu.totalcompute": "9199"})})
    with pytest.raises(PreflightError, match=r"so many MHz: one 2299\.75"):
        nomad.find()


def test_an_agent_that_is_confined_counts_the_cores_it_has(server: Answering) -> None:
    server.answers |= cluster({"one": node(1)})
    server.answers["/v1/node/id-one"] = (200, detail(node(1, **{"cpu.totalcompute": "2000"}), (1, 3)))
    provision = nomad.find()
    assert provision.nodes[1].cpus == (1, 3)
    assert provision.access is not None and provision.access.extra["mhz"] == "1000"
    (warning,) = [finding.message for finding in nomad.check() if finding.level == "warning"]
    assert warning.startswith("Nomad counts 4 cores on one, containers use 2 of them; if its agent runs on more than")


def test_consul_is_missed_on_nodes_and_from_here(server: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSUL_HTTP_ADDR", "http://127.0.0.1:1")
    with pytest.raises(PreflightError, match=r"127\.0\.0\.1:1: Connection refused\n  set CONSUL_HTTP_ADDR"):
        nomad.find()
    without = node(2)
    del without["consul.version"]
    server.answers |= cluster({"one": node(1), "two": without})
    with pytest.raises(PreflightError, match="no Consul agent beside Nomad on two: services find each other"):
        nomad.find()


def test_a_wrong_address_is_one_message(server: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOMAD_ADDR", "http://127.0.0.1:1")
    (finding,) = errors_of(Existing(CLUSTER, "test"))
    assert finding.message == "Nomad does not answer: http://127.0.0.1:1: Connection refused"
    assert finding.remedy == "set NOMAD_ADDR to http://HOST:4646 of a server that runs"
    assert len(Existing(CLUSTER, "test").sketch("nomad", 1)) == 2  # a plan can be looked at all the same


def test_a_refusal_names_the_token_that_is_missing(server: Answering) -> None:
    server.answers["/v1/nodes"] = (403, "Permission denied")
    (finding,) = errors_of(Existing(CLUSTER, "test"))
    assert "says 403: Permission denied" in finding.message and "set NOMAD_TOKEN to a token" in finding.remedy


def test_agents_must_see_what_they_read(server: Answering) -> None:
    closed = node(2)
    del closed["driver.docker.volumes.enabled"]
    server.answers |= cluster({"one": node(1), "two": closed})
    with pytest.raises(PreflightError) as raised:
        nomad.find()
    assert str(raised.value) == (
        "no container may see /proc and /sys/fs/cgroup of two, so limits could not be read back\n"
        '  set plugin "docker" { config { volumes { enabled = true } } } for their Nomad agents and start them again'
    )


def test_images_must_reach_nodes_that_are_elsewhere(server: Answering) -> None:
    (finding,) = errors_of(Existing(CLUSTER, "test"))
    assert "one, two" in finding.message and "cluster.registry" in finding.remedy
