"""The containers of a Compose project: as an engine's API lists them to replicas, and their removal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests
from docker.errors import APIError

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, docker_errors
from loadstone.infrastructure.failover import Unreachable
from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.containers import SERVICE_LABEL

_NUMBER_LABEL = "com.docker.compose.container-number"
_AT_ONCE = 4
_GONE_WITHIN_S = 120.0


def replicas(listed: Iterable[dict[str, Any]], healthy: Iterable[str], deployment: Deployment) -> list[FoundReplica]:
    """A replica for each container of a service. Pure. ``healthy``: ids of those whose check passes or is not there."""
    passing = set(healthy)
    node = next(node for node in deployment.nodes if node.role == "worker")
    found = []
    for container in listed:
        service = container["Labels"].get(SERVICE_LABEL, "")
        if not service:  # an agent
            continue
        fine = container["State"] == "running" and container["Id"] in passing
        found.append(
            FoundReplica(
                name=f"{service}-{container['Labels'][_NUMBER_LABEL]}",
                service=service,
                node=node.name,
                state=container["State"],
                healthy=fine,
                why="" if fine else container["Status"],
                container=container["Id"],
                image=container["ImageID"],
                addresses=_addresses(service, container["Ports"], node.address, deployment),
                address=_address(container),
            )
        )
    return sorted(found, key=lambda container: container.name)


def _addresses(service: str, ports: list[dict[str, Any]], host: str, deployment: Deployment) -> dict[str, str]:
    names = {number: name for replica in deployment.of(service) for name, number in replica.ports.items()}
    return {
        names[port["PrivatePort"]]: f"{host}:{port['PublicPort']}"
        for port in ports
        if "PublicPort" in port and port["PrivatePort"] in names
    }


def _address(container: dict[str, Any]) -> str:
    """Its own, in the only network that it is in."""
    networks = (container.get("NetworkSettings") or {}).get("Networks") or {}
    return next((str(network["IPAddress"]) for network in networks.values()), "")


def remove(access: Access, label: str) -> None:
    """Remove the containers with this label, with their volumes, and the networks; wait until they are gone."""
    engine = Engine(access.addresses[0])
    filters = {"label": label}
    deadline = time.monotonic() + _GONE_WITHIN_S
    try:
        with docker_errors(engine.url):
            while containers := engine.api.containers(all=True, filters=filters):
                if time.monotonic() > deadline:
                    left = ", ".join(container["Names"][0].strip("/") for container in containers[:5])
                    raise DeploymentError(f"the engine does not remove {left}", "its log says why")
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(lambda container: _remove_container(engine, container["Id"]), containers))
            for network in engine.api.networks(filters=filters):
                engine.api.remove_network(network["Id"])
    except Unreachable:
        if not access.cluster:  # in a cluster of ours everything goes with its nodes
            raise


def _remove_container(engine: Engine, identity: str) -> None:
    try:
        engine.api.remove_container(identity, v=True, force=True)
    except APIError as error:
        if error.status_code not in (requests.codes.not_found, requests.codes.conflict):  # it is being removed
            raise
