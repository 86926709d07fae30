"""From containers, as an engine's API lists them, to replicas. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loadstone.model.deployment import Deployment, Found
from loadstone.orchestration.containers import SERVICE_LABEL

_NUMBER_LABEL = "com.docker.compose.container-number"


def replicas(listed: Iterable[dict[str, Any]], healthy: Iterable[str], deployment: Deployment) -> list[Found]:
    """A replica for each container of a service; ``healthy``: ids of those whose check passes, or that have none."""
    passing = set(healthy)
    node = next(node for node in deployment.nodes if node.role == "worker")
    found = []
    for one in listed:
        service = one["Labels"].get(SERVICE_LABEL, "")
        if not service:  # an agent
            continue
        fine = one["State"] == "running" and one["Id"] in passing
        found.append(
            Found(
                name=f"{service}-{one['Labels'][_NUMBER_LABEL]}",
                service=service,
                node=node.name,
                state=one["State"],
                healthy=fine,
                why="" if fine else one["Status"],
                container=one["Id"],
                image=one["ImageID"],
                addresses=_addresses(service, one["Ports"], node.address, deployment),
            )
        )
    return sorted(found, key=lambda one: one.name)


def _addresses(service: str, ports: list[dict[str, Any]], host: str, deployment: Deployment) -> dict[str, str]:
    names = {number: name for replica in deployment.of(service) for name, number in replica.ports.items()}
    return {
        names[port["PrivatePort"]]: f"{host}:{port['PublicPort']}"
        for port in ports
        if "PublicPort" in port and port["PrivatePort"] in names
    }
