"""Removes what a deployment made in a swarm, and waits until it is gone."""

from __future__ import annotations

import time
from typing import Any

from docker.errors import APIError

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.failover import Unreachable
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.docker import inside
from loadstone.orchestration.swarm import tasks
from loadstone.orchestration.swarm.managers import Managers

_GONE_WITHIN_S = 120.0
_GONE_FROM_DEAD_NODES_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.2


def remove(access: Access, label: str) -> None:
    """Remove services, networks and configs with this label, and wait for their containers.

    What a node that is down still has does not hold us up: in a cluster of ours it goes with the node.
    """
    managers = Managers(access.addresses)
    engines = {node: Engine(url) for node, url in access.engines.items()}
    places = [Engine(url) for url in dict.fromkeys([*access.engines.values(), *access.addresses])]
    started = time.monotonic()
    try:
        while left := inside.remove(places, label) or (
            managers.ask(lambda api: _remove(api, label)) + _on_engines(engines, label)
        ):
            down = managers.ask(_down)
            patience = _GONE_FROM_DEAD_NODES_WITHIN_S if down else _GONE_WITHIN_S
            if time.monotonic() - started > patience:
                if access.cluster and down:
                    return
                because = f" ({', '.join(down)} does not answer)" if down else ""
                raise DeploymentError(f"the swarm does not remove {', '.join(left[:5])}{because}", "try again later")
            time.sleep(_LOOK_EVERY_S)
    except Unreachable:
        if not access.cluster:
            raise


def _remove(api: Any, label: str) -> list[str]:
    """Remove what can be removed now; what is left. Networks wait for the last task."""
    filters = {"label": label}
    for service in api.services(filters=filters):
        api.remove_service(service["ID"])
    tasks = [f"a task on {task.get('NodeID', 'no node')}" for task in api.tasks(filters=filters)]
    if tasks:
        return tasks
    for config in api.configs(filters=filters):
        api.remove_config(config["ID"])
    networks = api.networks(filters=filters)
    for network in networks:
        _remove_network(api, network["Id"])
    return [f"network {network['Name']}" for network in networks]


def _remove_network(api: Any, identity: str) -> None:
    """One that is still in use is left: a manager learns of a container's end from its node."""
    try:
        api.remove_network(identity)
    except APIError as error:
        if error.is_server_error():
            raise


def _on_engines(engines: dict[str, Engine], label: str) -> list[str]:
    """Containers and networks that engines still have; what no engine answers for is not counted."""
    left: list[str] = []
    filters = {"label": label}
    for node, engine in engines.items():
        try:
            with docker_errors(engine.url):
                containers = engine.api.containers(all=True, filters=filters)
                left += [f"{container['Names'][0].strip('/')} on {node}" for container in containers]
                left += [f"network {container['Name']} on {node}" for container in engine.api.networks(filters=filters)]
        except Unreachable:
            continue
    return left


def _down(api: Any) -> list[str]:
    return [node["Description"]["Hostname"] for node in api.nodes() if node["Status"]["State"] in tasks.LOST]
