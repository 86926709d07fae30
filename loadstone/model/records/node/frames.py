"""Frames of the channel, and a node's first line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from loadstone.model.base import Model

PROTOCOL = 1
"""The version that ``hello`` names; a node of another one is refused."""
MOST_LINE_BYTES = 1 << 20
MOST_PAYLOAD_BYTES = 4 << 20

FaultKind = Literal["input", "missing", "refused", "failed", "canceled"]


class Nothing(Model):
    """No arguments, or an answer that only says: done."""


class Hello(Model):
    """The first line of a node."""

    event: Literal["hello"]
    protocol: int
    version: str
    arch: str
    """As Go names it: ``amd64``."""
    boot: str
    """Id of the kernel's boot."""
    hostname: str
    uid: int
    pid: int
    state: str
    """The folder of its journal, of data and of logs."""


class Fault(Model):
    """Why a request failed."""

    kind: FaultKind
    message: str
    remedy: str = ""
    owner: str = ""
    """The owner of the deployment in whose place the requested one cannot be."""


class NodeRequest(Model):
    """A line of the desk; ``bytes`` raw bytes follow it."""

    id: Annotated[int, Field(ge=0)]
    verb: str
    args: dict[str, Any] = {}
    bytes: Annotated[int, Field(ge=0, le=MOST_PAYLOAD_BYTES)] = 0


class Reply(Model):
    """A line of a node after ``hello``: an event, or the end of a request. ``bytes`` raw bytes follow it."""

    id: int | None = None
    """None for a desk that does not keep to the protocol: the channel ends."""
    event: dict[str, Any] | None = None
    ok: dict[str, Any] | None = None
    error: Fault | None = None
    bytes: Annotated[int, Field(ge=0, le=MOST_PAYLOAD_BYTES)] = 0
