"""``observed.json``: what was recorded in one trial, on which nodes, in which window, and what became of the spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loadstone.model.records.base import Items, Record, Whole

HOST = "host"
"""The name under which the counters of this machine stand where virtual machines of ours run on it."""


def on_host(guest: str) -> str:
    """What the counters of a guest's QEMU are called on the host; replicas have no such name."""
    return f"guest/{guest}"


class MeasuredWindow(Record):
    """The measured part of the trial, unix time."""

    from_ns: Whole
    to_ns: Whole


class ObservedNode(Record):
    """One node of the cluster."""

    role: str | None = None
    cpus: Items[Whole] = ()
    emulated: bool = False
    recorded: bool
    absent: dict[str, str] = {}
    """Families of metrics that this machine does not have, each with the reason."""
    skipped: Whole | None = None
    """Readings that were due and not taken, as the recorder counted them."""
    shared_by: Items[str] = ()
    """All nodes of the kernel whose one recording bears this node's name; empty where it has its own."""


class ObservedReplica(Record):
    """Whose replica it is, and where it ran."""

    service: str
    tier: str
    node: str


class SpanCounts(Record):
    """What the receiver of spans counted in the whole trial; None is what could not be known."""

    received: Whole | None = None
    written: Whole | None = None
    refused: Whole | None = None
    unreadable: Whole | None = None
    """Spans; in runs of release 0.1 also requests."""
    unread: Whole | None = None
    """Requests."""
    traces: Whole | None = None
    roots: Whole | None = None
    produced: Whole | None = None
    dropped: Whole | None = None
    outside: Whole | None = None
    quiet: bool | None = None
    sample: float | None = None
    requests: Whole | None = None
    """Sent in the whole trial, warm-up and drain included."""


class Observed(Record):
    """``observed.json``."""

    window: MeasuredWindow | None = None
    nodes: dict[str, ObservedNode]
    replicas: dict[str, ObservedReplica]
    traces: SpanCounts | None = None
    others: dict[str, Any] = {}
    """By name what collectors of outside packages report."""
    problems: Items[str] = ()
    """What could not be observed, in sentences."""

    def adding(self, problems: Iterable[str], **parts: Any) -> Observed:
        """The record with more problems, and with ``parts`` in place of its own."""
        return self.model_copy(update={**parts, "problems": (*self.problems, *problems)})
