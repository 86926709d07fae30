"""NGINX in front of an application."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from loadstone.model.base import Model, show

SERVICE = "nginx"
"""What the service is called that is put in front."""
_MOST_WORKERS = 64


def _workers(value: Any) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_WORKERS
    if value != "auto" and not number:
        raise ValueError(f"{show(value)} is no number of workers; use 1 to {_MOST_WORKERS}, or auto")
    return value


Workers = Annotated[int | Literal["auto"], BeforeValidator(_workers)]


class Proxy(Model):
    """NGINX before the front end: requests go through it to all replicas of the front end, in turn."""

    workers: Workers = "auto"
    """Worker processes, 1 to 64; ``auto`` is as many as its machine has cores."""
    connections: Annotated[int, Field(ge=16, le=65535)] = 1024
    """Connections of each worker, those to the front end included."""
    keepalive_requests: Annotated[int | None, Field(ge=1, le=10**9)] = None
    """Requests over one connection before NGINX closes it; by default NGINX's own, 1000."""

    def __str__(self) -> str:
        """``workers:4,connections:1024``, for labels."""
        given = self.model_dump(exclude_none=True)
        return ",".join(f"{name}:{value}" for name, value in given.items())


NoProxy = Annotated[Literal["none"], WithJsonSchema({"type": "string", "enum": ["none"]})]


def or_none(value: Any) -> Any:
    """``none`` is no proxy, also as a level of a factor."""
    return None if value == "none" else value
