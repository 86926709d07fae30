"""What is made of Nomad's, Consul's and engines' answers about replicas; the answers are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.model.cluster import Node
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.nomad import Nomad
from loadstone.orchestration.nomad.cluster import ConsulCheck, Container, NomadCluster
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes

ACCESS = Access("nomad", ("http://127.0.0.1:1",), {}, extra={"consul": "", "namespace": "", "mhz": "1000"})


def allocation(number: int, name: str = "test-geo.geo[0]", **more: Any) -> dict[str, Any]:
    return {
        "ID": f"allocation-{number}",
        "Name": name,
        "TaskGroup": name.split(".")[1].split("[")[0],
        "NodeName": "worker-1",
        "DesiredStatus": "run",
        "ClientStatus": "running",
        "TaskStates": None,
        **more,
    }


def event(kind: str, message: str) -> dict[str, Any]:
    return {"Type": kind, "DisplayMessage": message, "FailsTask": False}


Make = Callable[..., Nomad]


@pytest.fixture
def nomad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """An orchestrator whose cluster gives the given answers."""
    monkeypatch.setattr(images, "reference", lambda what, access: what)

    def make(
        allocations: list[dict[str, Any]],
        checks: dict[str, list[ConsulCheck]] | None = None,
        where: list[Node] | None = None,
        **answers: Any,
    ) -> Nomad:
        cluster_answers = {"allocations": allocations, "checks": checks or {}, "containers": ({}, set()), **answers}
        for name, answer in cluster_answers.items():
            monkeypatch.setattr(NomadCluster, name, lambda self, *_, answer=answer: answer)
        return Nomad(deployed(parse(SERVICES), where or two_nodes(), scaling="horizontal"), tmp_path, ACCESS)

    return make


PASSING = [ConsulCheck(True, "")]


def test_a_replica_that_runs_and_passes_its_check(nomad: Make) -> None:
    ports = [
        {"Label": "grpc", "HostIP": "198.18.0.3", "Value": 23456, "To": 8083},
        {"Label": "admin", "HostIP": "198.18.0.3", "Value": 23457, "To": 9083},
    ]
    placed = allocation(1, "test-geo.geo[1]", AllocatedResources={"Shared": {"Ports": ports}})
    containers = {"allocation-1": Container("c" * 64, "sha256:" + "1" * 64)}, set()
    (found,) = nomad([placed], {"allocation-1": PASSING}, containers=containers, reaches=True)._find()
    assert (found.name, found.service, found.node, found.healthy) == ("geo-2", "geo", "worker-1", True)
    assert (found.container, found.image, found.why) == ("c" * 64, "sha256:" + "1" * 64, "")
    assert found.addresses == {"grpc": "198.18.0.3:23456", "admin": "198.18.0.3:23457"}


def test_a_replica_is_its_newest_allocation_that_is_wanted(nomad: Make) -> None:
    lost = allocation(1, DesiredStatus="stop", ClientStatus="lost")
    failed = allocation(2, ClientStatus="failed")
    new = allocation(3, ClientStatus="pending", NodeName="worker-2")
    (found,) = nomad([lost, failed, new])._find()
    assert (found.state, found.node, found.healthy) == ("pending", "worker-2", False)
    assert nomad([lost])._find() == []


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ({}, "Consul does not know it yet"),
        ({"allocation-1": PASSING}, ""),
        ({"allocation-1": [ConsulCheck(False, "503: not ready"), ConsulCheck(True, "")]}, "503: not ready"),
    ],
)
def test_health_is_what_consul_says(nomad: Make, checks: dict[str, list[ConsulCheck]], why: str) -> None:
    (found,) = nomad([with_port()], checks)._find()
    assert (found.healthy, found.why) == (not why, why)


def with_port() -> dict[str, Any]:
    return allocation(1, AllocatedResources={"Shared": {"Ports": [{"Label": "grpc", "HostIP": "h", "Value": 1}]}})


def test_a_container_that_ended_and_one_whose_engine_is_silent(nomad: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = nomad([with_port()], {"allocation-1": PASSING}, reaches=True)

    def state(*answer: Any) -> tuple[str, bool, str]:
        monkeypatch.setattr(NomadCluster, "containers", lambda self: answer)
        (found,) = deployed._find()
        return found.container, found.healthy, found.why

    assert state({"allocation-1": Container("c" * 64, "")}, set()) == ("c" * 64, True, "")
    assert state({}, {"worker-1"}) == ("c" * 64, False, "the engine of worker-1 does not answer")
    assert state({}, set()) == ("", False, "its container has ended")


def test_failures_are_reported_with_nomad_s_messages(nomad: Make) -> None:
    events = [
        event("Driver Failure", "Failed to pull `a:1`: no such host"),
        event("Restarting", "Task restarting in 1s"),
        event("Terminated", 'Exit Code: 137, Exit Message: "OOM killed"'),
        event("Terminated", 'Exit Code: 137, Exit Message: "OOM killed"'),
    ]
    pending = allocation(1, ClientStatus="pending", TaskStates={"geo": {"Events": events}})
    (found,) = nomad([pending])._find()
    assert found.why == 'Exit Code: 137, Exit Message: "OOM killed"; Failed to pull `a:1`: no such host'
    assert found.hopeless


def test_elsewhere_a_replica_is_known_by_its_allocation(nomad: Make) -> None:
    nodes = [node.model_copy(update={"here": node.role == "client"}) for node in two_nodes()]
    agent = allocation(2, "test-loadstone-agent.loadstone-agent[0]")
    (found,) = nomad([allocation(1), agent], where=nodes)._find()
    assert found.container == "allocation-1"


def test_nodes_that_run_nothing_are_lost(nomad: Make) -> None:
    healthy = {"docker": {"Healthy": True}}
    nodes = [
        {"Name": "worker-1", "Status": "down", "Drivers": healthy},
        {"Name": "client", "Status": "ready", "Drivers": {"docker": {"Healthy": False, "HealthDescription": "gone"}}},
        {"Name": "somebody-else", "Status": "down", "Drivers": None},
    ]
    assert nomad([], nodes=nodes)._lost() == ["worker-1 is down", "client runs no containers: gone"]


def unplaced(nomad: Make, **metrics: dict[str, int]) -> list[str]:
    evaluation = {"Status": "complete", "FailedTGAllocs": {"frontend": {"NodesEvaluated": 2, **metrics}}}
    with pytest.raises(DeploymentError) as raised:
        nomad([], register="evaluation-1", evaluation=evaluation)._create(["frontend"])
    return str(raised.value).splitlines()


def test_no_room_is_reported_at_once_with_what_is_wanted_and_there(nomad: Make) -> None:
    assert unplaced(nomad, DimensionExhausted={"cpu": 2}) == [
        "frontend: Nomad finds no node for it: cpu on 2 of 2 nodes",
        "  the deployment reserves 1.5 CPUs in all; worker-1 has 1",
        "  set smaller limits (`resources`), choose another scaling or profile, or use more or larger workers",
    ]
    assert unplaced(nomad, DimensionExhausted={"network: reserved port collision http=5000": 2}) == [
        "frontend: Nomad finds no node for it: network: reserved port collision http=5000 on 2 of 2 nodes",
        "  stop the job that has the port, or use another node",
    ]
    assert unplaced(nomad, ConstraintFiltered={"missing drivers": 1})[0].endswith("missing drivers on 1 of 2 nodes")
    assert unplaced(nomad)[0].endswith("none is ready")
    nomad([], register="evaluation-1", evaluation={"Status": "complete"})._create(["frontend"])


def test_removing_waits_for_allocations_containers_and_consul(nomad: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [
        {
            "allocations": [allocation(1)],
            "containers": ({"a": Container("c" * 64, "")}, set()),
            "checks": {"a": PASSING},
        },
        {"allocations": [allocation(1, ClientStatus="complete")], "checks": {"a": PASSING}},
        {"allocations": [allocation(1, ClientStatus="lost")]},
    ]
    purged: list[str] = []
    nomad([], purge=None)
    monkeypatch.setattr(NomadCluster, "purge", lambda self: purged.append("purged"))

    def step(seconds: float) -> None:
        state = left.pop(0)
        for name in ("allocations", "containers", "checks"):
            answer = state.get(name, ({}, set()) if name == "containers" else {})
            monkeypatch.setattr(NomadCluster, name, lambda self, answer=answer: answer)

    step(0)
    monkeypatch.setattr("time.sleep", step)
    Nomad._delete(ACCESS, "test")
    assert purged == ["purged"] and left == []
