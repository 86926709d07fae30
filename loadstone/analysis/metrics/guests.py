"""Virtual machines from both sides: what the host counted of a guest's QEMU, and what the guest counted itself."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analysis.metrics.nodes import MetricRow, NodeUse
from loadstone.analysis.metrics.windows import WindowValues
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import HOST, on_host


class GuestUse(TableRow):
    """One guest. ``host_...`` is of its QEMU, but of ``host_switches_per_s``, which are those of the whole machine with
    all of its guests; overheads are the host's numbers less the guest's."""

    node: str
    host_cores: float | None
    guest_cores: float | None
    overhead_cores: float | None
    host_memory_bytes: float | None
    guest_memory_bytes: float | None
    overhead_memory_bytes: float | None
    host_switches_per_s: float | None
    guest_switches_per_s: float | None


class GuestRow(GuestUse, MetricRow, name="metrics_guests"):
    """A guest in one trial."""


def guests(nodes: Iterable[NodeUse], measured: WindowValues) -> list[GuestUse]:
    """One row for each guest whose QEMU was recorded; ``nodes``: as the guests counted."""
    subjects = {subject for recorder, subject, _ in measured.values if recorder == HOST}
    return [_guest(node, measured) for node in nodes if _subject(node.node) in subjects]


def _subject(node: str) -> str:
    return f"replica:{on_host(node)}"


def _guest(node: NodeUse, measured: WindowValues) -> GuestUse:
    subject = _subject(node.node)
    cores = measured.rate(HOST, subject, "container_cpu_seconds_total")
    memory = measured.get(HOST, subject, "container_memory_bytes").mean
    return GuestUse(
        node=node.node,
        host_cores=cores,
        guest_cores=node.cpu_cores,
        overhead_cores=_less(cores, node.cpu_cores),
        host_memory_bytes=memory,
        guest_memory_bytes=node.memory_used_bytes,
        overhead_memory_bytes=_less(memory, node.memory_used_bytes),
        host_switches_per_s=measured.rate(HOST, "node", "context_switches_total"),
        guest_switches_per_s=node.context_switches_per_s,
    )


def _less(host: float | None, guest: float | None) -> float | None:
    return None if host is None or guest is None else host - guest
