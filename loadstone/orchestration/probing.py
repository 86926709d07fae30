"""Asks a replica whether it is ready."""

from __future__ import annotations

import http.client
import json
import socket

from loadstone.orchestration.commands import Command
from loadstone.orchestration.running import run_as

_PATIENCE_S = 2.0
"""For one answer; a service bounds its own at less than a second."""


def why_not_ready(command: Command) -> str | None:
    """None if the replica is ready, else why it is not, in its own words where it has some."""
    if command.replica.readiness.http is not None:
        return ask_http(command.host, command.ready_port, command.replica.readiness.http)
    try:
        socket.create_connection((command.host, command.ready_port), _PATIENCE_S).close()
    except OSError as error:
        return f"port {command.ready_port} does not accept connections: {error.strerror or error}"
    if command.ready:
        result = run_as(command.ready, None)
        if result.returncode != 0:
            return (result.stdout + result.stderr).strip() or f"`{command.ready[0]}` exits with {result.returncode}"
    return None


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
