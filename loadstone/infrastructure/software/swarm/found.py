"""The swarm of the Docker engine that the user's shell talks to, which must be one of its managers."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from loadstone.infrastructure.base import Access, Provision
from loadstone.infrastructure.desk import client
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.machines.exec import ROLE
from loadstone.infrastructure.software.docker import context
from loadstone.model.cluster import Node, Reach, Role
from loadstone.model.errors import PreflightError

_NANO = 10**9


def find() -> Provision:
    """Nodes that are ready and take tasks are workers, whether they manage or not; drained managers are managers.

    Nodes that are labelled for it are clients, drained or not; without any, this machine is one.
    """
    engine = context.current()
    with docker_errors(engine.url):
        info = engine.api.info()
        _require_manager(engine, info["Swarm"])
        listed = [node for node in engine.api.nodes() if node["Status"]["State"] == "ready"]
    nodes = {node["ID"]: _node(node, engine, info) for node in listed if _takes_part(node)}
    mine = nodes.get(info["Swarm"]["NodeID"])
    managers = sum(node["Spec"]["Role"] == "manager" for node in listed)
    access = Access(
        "swarm",
        addresses=(engine.url,),
        engines={mine.name: engine.url} if mine is not None and mine.role == "worker" else {},
        extra={"managers": str(managers)},
    )
    shared = any(node.reach.local and node.role == "worker" for node in nodes.values())
    here = [] if any(node.role == "client" for node in nodes.values()) else [client(shared)]
    return Provision((*here, *sorted(nodes.values(), key=lambda node: (node.role, node.name))), access)


def _require_manager(engine: Engine, swarm: dict[str, Any]) -> None:
    if swarm["LocalNodeState"] != "active":
        raise PreflightError(
            f"the Docker engine at {engine.url} is in no swarm (its state: {swarm['LocalNodeState']})",
            "make one (docker swarm init), or use orchestrator: compose",
        )
    if not swarm["ControlAvailable"]:
        managers = ", ".join(manager["Addr"] for manager in swarm.get("RemoteManagers") or [])
        raise PreflightError(
            f"the Docker engine at {engine.url} is a worker of its swarm",
            f"talk to a manager by DOCKER_HOST or a context; there is one at {managers or 'another address'}",
        )


def _by_login(engine: Engine, name: str) -> Reach:
    """No engine of a swarm runs anything on another by its client: a node is logged in to, as the engine itself is."""
    place = urlsplit(engine.url)
    user = f"{place.username}@" if place.scheme == "ssh" and place.username else ""
    return Reach(transport="ssh", options={"host": f"{user}{name}"})


def _takes_part(listed: dict[str, Any]) -> bool:
    """A drained worker does not, unless it generates load."""
    return bool(listed["Spec"]["Role"] == "manager" or _role(listed) != "manager")


def _role(listed: dict[str, Any]) -> Role:
    """The role of a node; that of a manager for one that is drained."""
    if (listed["Spec"].get("Labels") or {}).get(ROLE) == "client":
        return "client"
    return "worker" if listed["Spec"]["Availability"] == "active" else "manager"


def _node(listed: dict[str, Any], engine: Engine, info: dict[str, Any]) -> Node:
    name, role = listed["Description"]["Hostname"], _role(listed)
    if listed["ID"] == info["Swarm"]["NodeID"]:
        mine = context.node(name, engine, info).model_copy(update={"role": role})
        if role == "client" and mine.reach.local:
            raise PreflightError(
                f"{name}, a node of your swarm, is labelled as a client, and it is this machine, which generates the "
                "load where no other does",
                f"docker node update --label-rm {ROLE} --availability drain {name}",
            )
        return mine
    resources = listed["Description"]["Resources"]
    manager = (listed.get("ManagerStatus") or {}).get("Addr", "")
    return Node(
        name=name,
        role=role,
        address=manager.rpartition(":")[0] or listed["Status"]["Addr"],
        cpus=tuple(range(resources["NanoCPUs"] // _NANO)),
        memory=resources["MemoryBytes"],
        reach=_by_login(engine, name),
    )
