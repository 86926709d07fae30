"""``observed.json`` of a trial: what was recorded, on which nodes, in which window, and what became of the spans."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class Window(TypedDict):
    """The measured part of the trial, unix time."""

    from_ns: int
    to_ns: int


class Node(TypedDict):
    """One node of the cluster. ``absent``: family of metrics by the reason why this machine does not have it."""

    role: NotRequired[str]
    cpus: NotRequired[list[int]]
    recorded: bool
    absent: NotRequired[dict[str, str]]
    skipped: NotRequired[int]
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

    received: NotRequired[int]
    written: NotRequired[int]
    refused: NotRequired[int]
    unreadable: NotRequired[int]
    traces: NotRequired[int]
    roots: NotRequired[int]
    produced: NotRequired[int | None]
    dropped: NotRequired[int | None]
    outside: NotRequired[int]
    quiet: NotRequired[bool]
    sample: NotRequired[float]
    requests: NotRequired[int | None]
    """Sent in the whole trial, warm-up and drain included."""


class Observed(TypedDict):
    """``observed.json``."""

    window: Window | None
    nodes: dict[str, Node]
    replicas: dict[str, Replica]
    traces: NotRequired[Spans | None]
    problems: NotRequired[list[str]]
    """What could not be observed, in sentences."""
