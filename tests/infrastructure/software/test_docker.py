"""Settings of engines, and a swarm between two states."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.machines.here import Here
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.docker import engines
from loadstone.infrastructure.software.swarm import joining
from loadstone.model.errors import DeploymentError


def member(folder: str) -> Member:
    """A member whose machine is never reached."""
    machine = Machine("worker-1", Here())
    begun = SimpleNamespace(folder=folder, group="loadstone/cluster-abc123")
    machine.deployment = lambda name: begun  # type: ignore[method-assign, assignment, return-value]
    return Member("worker-1", "worker", "198.18.4.2", machine, "cluster")


def test_an_engine_keeps_to_its_member() -> None:
    settings = engines.settings(member("/data/worker-1"), "10.0.0.5:5000")
    assert settings["hosts"] == ["unix:///data/worker-1/docker.sock"]
    assert settings["data-root"] == "/data/worker-1/docker"
    assert settings["cgroup-parent"] == "/loadstone/cluster-abc123/containers"
    assert settings["insecure-registries"] == ["10.0.0.5:5000"]
    assert engines.settings(member("/data/worker-1"), "")["insecure-registries"] == []


def test_the_path_of_a_socket_has_its_limit() -> None:
    assert engines.url(member(f"/{'x' * 94}")) == f"unix:///{'x' * 94}/docker.sock"
    with pytest.raises(DeploymentError, match=r"too long for a socket: 108 bytes, 107 at most\n.*LOADSTONE_DATA"):
        engines.url(member(f"/{'x' * 95}"))


def test_a_request_to_a_swarm_between_two_states_is_retried() -> None:
    answers: list[Any] = [APIError("rpc error: code = Unknown desc = update out of sequence"), APIError("no"), "done"]

    def act() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, APIError):
            raise answer
        return answer

    with pytest.raises(APIError, match=r"^no$"):
        joining.retry(act)
    assert answers == ["done"]
    assert joining.retry(act) == "done"
