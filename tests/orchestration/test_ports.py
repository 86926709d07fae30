"""Ports of deployments that start at the same time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.infrastructure.local import Local
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.machines.here import Here
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError
from loadstone.orchestration import ports
from tests.orchestration.conftest import STORES, deployed, parse


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
    """This machine as two desks have it; what others chose on it is in another folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path))
    pair = (Machine("worker-1", Here()), Machine("worker-1", Here()))
    yield pair
    for machine in pair:
        machine.close()


def test_what_another_has_chosen_is_not_chosen_until_that_one_ends(machines: tuple[Machine, Machine]) -> None:
    deployment = deployed(parse(STORES), Local(Cluster()).sketch("process", 0))

    def chosen(machine: Machine) -> set[int]:
        found = ports.free_ports(deployment, {"worker-1": machine})
        assert {name: list(numbers) for name, numbers in found.items()} == {
            name: list(numbers) for name, numbers in ports.preferred_ports(deployment).items()
        }
        return {number for numbers in found.values() for number in numbers.values()}

    first, second = machines
    mine, theirs = chosen(first), chosen(second)
    assert len(mine) == len(theirs) == 3 and not mine & theirs
    assert chosen(first) == mine, "a chosen port stays chosen while no process listens"
    first.close()
    assert chosen(second) == mine


def test_a_taken_port_of_a_stack_is_refused(machines: tuple[Machine, Machine]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        deployment = deployed(parse(STORES.replace("11211", str(taken))), Local(Cluster()).sketch("process", 0))
        beside = [replica.model_copy(update={"stack": replica.service == "cache"}) for replica in deployment.replicas]
        watched = deployment.model_copy(update={"replicas": tuple(beside)})
        with pytest.raises(DeploymentError, match=f"cache: port {taken} of worker-1 is taken by another program"):
            ports.free_ports(watched, {"worker-1": machines[0]})
