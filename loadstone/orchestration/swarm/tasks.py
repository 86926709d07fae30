"""From the tasks of a swarm, as its API lists them, to replicas. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.orchestration.containers import SERVICE_LABEL
from loadstone.orchestration.docker import errors

Task = dict[str, Any]

LOST = ("down", "disconnected")
"""States of nodes that do not answer. ``unknown`` are all of them to a new leader, until it has heard of each."""
_OVER = ("shutdown", "remove")
"""What Swarm wants of tasks that have a successor, or need none."""
_NOWHERE = "no suitable node"
_PORT_TAKEN = "host-mode port already in use"


def replicas(tasks: Iterable[Task], hosts: dict[str, str], deployment: Deployment) -> list[FoundReplica]:
    """A replica for each slot of each service in which a task is wanted; ``hosts``: names of nodes by id."""
    slots: dict[tuple[str, int], list[Task]] = defaultdict(list)
    for task in tasks:
        if service := _service(task):  # agents have none
            slots[service, task["Slot"]].append(task)
    return [
        _replica(service, slot, sorted(history, key=lambda task: str(task["CreatedAt"])), hosts, deployment)
        for (service, slot), history in sorted(slots.items())
        if any(task["DesiredState"] not in _OVER for task in history)
    ]


def _replica(
    service: str, slot: int, history: list[Task], hosts: dict[str, str], deployment: Deployment
) -> FoundReplica:
    """``history``: the slot's tasks, oldest first."""
    task = [task for task in history if task["DesiredState"] not in _OVER][-1]
    status = task["Status"]
    node = hosts.get(task.get("NodeID", ""), "")
    ended = [earlier["Status"]["Err"] for earlier in history if earlier is not task and earlier["Status"].get("Err")]
    message = status.get("Err", "") or (status.get("Message", "") if status["State"] != "running" else "")
    why = "; ".join(dict.fromkeys(part for part in (ended[-1] if ended else "", message) if part))
    known = errors.meaning(why) if status["State"] != "running" else None
    # Of a slot that had a task before, that task may hold the port until its node has reported its end.
    freed_soon = _PORT_TAKEN in message and len(history) > 1
    return FoundReplica(
        name=f"{service}-{slot}",
        service=service,
        node=node,
        state=status["State"],
        healthy=status["State"] == "running",  # Swarm calls a task so once its health check has passed
        why=str(known) if known is not None else why,
        hopeless=(known is not None or _NOWHERE in message) and not freed_soon,
        container=_container(task),
        addresses=_addresses(service, node, status, deployment),
        address=_address(task),
    )


def _addresses(service: str, node: str, status: dict[str, Any], deployment: Deployment) -> dict[str, str]:
    names = {number: name for replica in deployment.of(service) for name, number in replica.ports.items()}
    known = {host.name: host.address for host in deployment.nodes}
    ports = (status.get("PortStatus") or {}).get("Ports") or []
    return {
        names[port["TargetPort"]]: f"{known[node]}:{port['PublishedPort']}"
        for port in ports
        if node in known and port["TargetPort"] in names
    }


def _address(task: Task) -> str:
    """Its own in the network of the stack, the only one that it is in; ports are published by its node itself."""
    attached = task.get("NetworksAttachments") or []
    return next(
        (str(address).partition("/")[0] for network in attached for address in network.get("Addresses") or ()), ""
    )


def last_with_container(tasks: Iterable[Task], hosts: dict[str, str], found: FoundReplica) -> tuple[Task | None, str]:
    """The newest task of a replica that ever had a container, and its node."""
    mine = [task for task in tasks if f"{_service(task)}-{task.get('Slot')}" == found.name and _container(task)]
    task = max(mine, key=lambda task: str(task["CreatedAt"]), default=None)
    return task, hosts.get(task["NodeID"], "") if task is not None else ""


def last_ended(tasks: Iterable[Task], hosts: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The node and the container of the newest task that ended by itself, by replica."""
    ended = [task for task in tasks if task["Status"]["State"] == "failed" and _container(task)]
    newest = sorted(ended, key=lambda task: str(task["CreatedAt"]))
    return {
        f"{_service(task)}-{task.get('Slot')}": (hosts.get(task["NodeID"], ""), _container(task)) for task in newest
    }


def _service(task: Task) -> str:
    return str(task["Spec"]["ContainerSpec"]["Labels"].get(SERVICE_LABEL, ""))


def _container(task: Task) -> str:
    return str((task["Status"].get("ContainerStatus") or {}).get("ContainerID", ""))
