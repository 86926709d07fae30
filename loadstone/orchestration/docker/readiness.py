"""Readiness of foreign images: an engine finds nothing in them to ask with, so we ask their published port."""

from __future__ import annotations

import http.client
import json
import socket

from loadstone.model.deployment import Deployment, FoundReplica, Replica

_PATIENCE_S = 2.0
"""For one answer."""
_CLOSES_WITHIN_S = 0.2
"""An engine may accept on behalf of a container that does not listen yet, and hangs up then."""


def checked_port(replica: Replica) -> str | None:
    """The port that says whether a replica of a foreign image is ready; None if it is as soon as it runs."""
    if replica.image is None or not replica.ports:
        return None
    return replica.readiness.port or replica.main_port


class FirstAnswers:
    """Remembers which containers have answered once: from then on they are not disturbed."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._answered: set[str] = set()

    def judge(self, found: FoundReplica) -> FoundReplica:
        """Not healthy before its port has answered, if it is one of a foreign image."""
        replica = self._deployment.of(found.service)[0]
        port = checked_port(replica)
        if port is None or not found.healthy or found.container in self._answered:
            return found
        why = _why_not(found.addresses.get(port), replica.readiness.http)
        if why is None:
            self._answered.add(found.container)
            return found
        return found.model_copy(update={"healthy": False, "why": f"port {port!r}: {why}"})


def _why_not(address: str | None, path: str | None) -> str | None:
    if address is None:
        return "it is not published yet"
    host, _, port = address.rpartition(":")
    if path is not None:
        return ask_http(host, int(port), path)
    try:
        with socket.create_connection((host, int(port)), _PATIENCE_S) as connection:
            return "it hangs up" if _hangs_up(connection) else None
    except OSError as error:
        return error.strerror or str(error)


def _hangs_up(connection: socket.socket) -> bool:
    connection.settimeout(_CLOSES_WITHIN_S)
    try:
        return connection.recv(1) == b""
    except TimeoutError:  # it waits for us to speak
        return False


def ask_http(host: str, port: int, path: str) -> str | None:
    """None if the answer is 200, else why it is not."""
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"no answer from http://{host}:{port}{path}: {error}"
    finally:
        connection.close()
    if response.status == 200:
        return None
    return f"http://{host}:{port}{path} says {response.status}: {_reasons(body)}"


def _reasons(body: str) -> str:
    """The ``reasons`` of a ``stone`` service's answer, else the answer."""
    try:
        reasons = json.loads(body)["reasons"]
        return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        return body.strip()[:300]
