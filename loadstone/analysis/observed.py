"""``observed.json`` of a trial: what was recorded, on which nodes, in which window, and what became of the spans."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number as tables have them: of 64 bits."""


class Window(TypedDict):
    """The measured part of the trial, unix time."""

    from_ns: Whole
    to_ns: Whole


class Node(TypedDict):
    """One node of the cluster. ``absent``: family of metrics by the reason why this machine does not have it."""

    role: NotRequired[str]
    cpus: NotRequired[list[Whole]]
    recorded: bool
    absent: NotRequired[dict[str, str]]
    skipped: NotRequired[Whole]
    """Readings that were due and not taken, as the agent counted them."""
    shared_by: NotRequired[list[str]]
    """All nodes of the kernel whose one recording bears this node's name."""


class Replica(TypedDict):
    """Whose replica it is, and where it ran."""

    service: str
    tier: str
    node: str


class Spans(TypedDict):
    """What the collector counted in the whole trial; null, or not there, is what could not be known."""

    received: NotRequired[Whole]
    written: NotRequired[Whole]
    refused: NotRequired[Whole]
    unreadable: NotRequired[Whole]
    """Spans; as earlier versions counted it, also requests."""
    unread: NotRequired[Whole]
    """Requests."""
    traces: NotRequired[Whole]
    roots: NotRequired[Whole]
    produced: NotRequired[Whole | None]
    dropped: NotRequired[Whole | None]
    outside: NotRequired[Whole]
    quiet: NotRequired[bool]
    sample: NotRequired[float]
    requests: NotRequired[Whole | None]
    """Sent in the whole trial, warm-up and drain included."""


class Observed(TypedDict):
    """``observed.json``."""

    window: Window | None
    nodes: dict[str, Node]
    replicas: dict[str, Replica]
    traces: NotRequired[Spans | None]
    problems: NotRequired[list[str]]
    """What could not be observed, in sentences."""
