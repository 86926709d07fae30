"""The addresses of the services that a service in a container needs: the environment of ``stone serve``. Pure."""

from __future__ import annotations

from loadstone.model.deployment import Deployment, Replica
from loadstone.model.software import STORE_PASSWORD

PASSWORD_VARIABLE = "STONE_STORE_PASSWORD"
"""The variable with the password of the store that a service needs."""


def environment(deployment: Deployment, replica: Replica) -> dict[str, str]:
    """The variables of a service whose neighbours are found by their names in DNS.

    A name stands for all replicas of a service. Where an orchestrator finds neighbours in another way, it replaces
    the values of ``STONE_NEED_*`` and ``STONE_DOCUMENTS``.
    """
    found = listening(replica) | settings(deployment)
    for need in replica.needs:
        needed = deployment.of(need)[0]
        found[variable(deployment, need)] = url(deployment, needed, need, needed.ports[needed.main_port])
    return found | password(deployment, replica) | replica.environment


def listening(replica: Replica) -> dict[str, str]:
    """Where a service listens in its container: everywhere, on its declared ports."""
    found = {"STONE_LISTEN": f"0.0.0.0:{replica.ports[replica.main_port]}"}
    if "admin" in replica.ports:
        found["STONE_ADMIN"] = f"0.0.0.0:{replica.ports['admin']}"
    return found


def password(deployment: Deployment, replica: Replica) -> dict[str, str]:
    """What stands for the password of the stores, where a replica in a container needs one that demands it."""
    needed = (deployment.of(need)[0].software for need in replica.needs)
    demanded = any(deployment.software[name].has_password(container=True) for name in needed if name is not None)
    return {PASSWORD_VARIABLE: STORE_PASSWORD} if demanded else {}


def settings(deployment: Deployment) -> dict[str, str]:
    """The variables of all services of a deployment."""
    profile = deployment.profile if deployment.profile == "dsb-quirks" else ""
    return {"STONE_PROFILE": profile, "STONE_LOG_LEVEL": "info"}


def variable(deployment: Deployment, need: str) -> str:
    """The variable that names a needed service: ``STONE_NEED_GEO``; of a document store ``STONE_DOCUMENTS``."""
    if holds_documents(deployment, need):
        return "STONE_DOCUMENTS"
    return "STONE_NEED_" + need.upper().replace("-", "_")


def url(deployment: Deployment, needed: Replica, host: str, port: int | str) -> str:
    """What the variable says: ``host:port``, or the URL of a document store."""
    if holds_documents(deployment, needed.service):
        return deployment.software[needed.software or ""].address(host, port, container=True)
    return f"{host}:{port}"


def holds_documents(deployment: Deployment, service: str) -> bool:
    """Whether a service is a document store."""
    software = deployment.software.get(deployment.of(service)[0].software or "")
    return software is not None and software.documents


def readiness_url(replica: Replica, host: str = "127.0.0.1") -> str | None:
    """The URL of a health check: ``http://127.0.0.1:9083/readyz`` or ``tcp://127.0.0.1:11211``, inside the container.

    None for an image without ports, which is ready as soon as it runs.
    """
    if not replica.ports:
        return None
    port = replica.ports[replica.readiness.port or replica.main_port]
    if replica.readiness.http is not None:
        return f"http://{host}:{port}{replica.readiness.http}"
    return f"tcp://{host}:{port}"
