"""Asks a replica whether it is ready."""

from __future__ import annotations

import http.client
import json

_PATIENCE_S = 2.0
"""For one answer; a service bounds its own at less than a second."""


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
