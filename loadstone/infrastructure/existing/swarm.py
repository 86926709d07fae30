"""The swarm of the Docker engine that your shell talks to, which must be one of its managers."""

from __future__ import annotations

from typing import Any

from loadstone.infrastructure.base import Access, Finding, Provision
from loadstone.infrastructure.docker_api import Engine, told
from loadstone.infrastructure.existing import docker
from loadstone.infrastructure.existing.here import client
from loadstone.model.cluster import Cluster, Node, Role
from loadstone.model.errors import PreflightError

_NANO = 10**9


def preflight(cluster: Cluster) -> list[Finding]:
    """Whether the engine answers; ``provide`` says whether it manages a swarm."""
    return docker.preflight(cluster)


def provide(cluster: Cluster) -> Provision:
    """Nodes that are ready and take tasks are workers, whether they manage or not; drained managers are managers."""
    engine = docker.current()
    with told(engine.url):
        info = engine.api.info()
        _require_manager(engine, info["Swarm"])
        listed = [one for one in engine.api.nodes() if one["Status"]["State"] == "ready"]
    nodes = {one["ID"]: _node(one, engine, info) for one in listed if _has_part(one)}
    mine = nodes.get(info["Swarm"]["NodeID"])
    managers = sum(one["Spec"]["Role"] == "manager" for one in listed)
    access = Access(
        "swarm",
        addresses=(engine.url,),
        engines={mine.name: engine.url} if mine is not None and mine.role == "worker" else {},
        extra={"managers": str(managers)},
    )
    shared = any(one.here and one.role == "worker" for one in nodes.values())
    return Provision((client(shared), *sorted(nodes.values(), key=lambda one: (one.role, one.name))), access)


def _require_manager(engine: Engine, swarm: dict[str, Any]) -> None:
    if swarm["LocalNodeState"] != "active":
        raise PreflightError(
            f"the Docker engine at {engine.url} is in no swarm (it says: {swarm['LocalNodeState']})",
            "make one (docker swarm init), or use orchestrator: compose",
        )
    if not swarm["ControlAvailable"]:
        managers = ", ".join(one["Addr"] for one in swarm.get("RemoteManagers") or [])
        raise PreflightError(
            f"the Docker engine at {engine.url} is a worker of its swarm",
            f"talk to a manager by DOCKER_HOST or a context; there is one at {managers or 'another address'}",
        )


def _has_part(listed: dict[str, Any]) -> bool:
    """A drained worker has none."""
    return bool(listed["Spec"]["Role"] == "manager" or listed["Spec"]["Availability"] == "active")


def _node(listed: dict[str, Any], engine: Engine, info: dict[str, Any]) -> Node:
    name = listed["Description"]["Hostname"]
    role: Role = "worker" if listed["Spec"]["Availability"] == "active" else "manager"
    if listed["ID"] == info["Swarm"]["NodeID"]:
        return docker.node(name, engine, info).model_copy(update={"role": role})
    resources = listed["Description"]["Resources"]
    manager = (listed.get("ManagerStatus") or {}).get("Addr", "")
    return Node(
        name=name,
        role=role,
        address=manager.rpartition(":")[0] or listed["Status"]["Addr"],
        cpus=tuple(range(resources["NanoCPUs"] // _NANO)),
        memory=resources["MemoryBytes"],
        here=False,
    )
