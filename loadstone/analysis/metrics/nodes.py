"""What each node did: processor time by mode, memory, switches, interrupts, network, disks, clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from loadstone.analysis.known import mean_of_all, total
from loadstone.analysis.metrics.windows import WindowValues
from loadstone.analysis.schema import OfTrial, TableRow
from loadstone.model.records.observed import Observed


class MetricRow(OfTrial):
    """Whose row it is in tables of all trials."""

    load: float
    verdict: str


class NodeUse(TableRow):
    """One node, or a machine that several share: ``shared_by`` names these nodes, None elsewhere.

    The rows of the nodes of such a machine have processor time only.
    """

    node: str
    shared_by: tuple[str, ...] | None
    replicas: bool
    """Whether it runs any."""
    cpus: int | None
    cpu_cores: float | None
    cpu_user_cores: float | None
    cpu_system_cores: float | None
    cpu_iowait_cores: float | None
    cpu_irq_cores: float | None
    cpu_steal_cores: float | None
    memory_used_bytes: float | None = None
    memory_user_bytes: float | None = None
    memory_programs_bytes: float | None = None
    memory_occupied_bytes: float | None = None
    context_switches_per_s: float | None = None
    interrupts_per_s: float | None = None
    network_received_bytes_per_s: float | None = None
    network_transmitted_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_written_bytes_per_s: float | None = None
    clock_offset_ms: float | None = None
    frequency_ghz: float | None = None
    reference_ms: float | None = None
    readings: int | None = None
    skipped: int | None = None

    @property
    def busy(self) -> float | None:
        """The share of its CPUs' time in which they worked."""
        return self.cpu_cores / self.cpus if self.cpu_cores is not None and self.cpus else None


class NodeRow(NodeUse, MetricRow, name="metrics_nodes"):
    """What a node did in one trial."""


MODES = {
    "user": ("user", "nice"),
    "system": ("system",),
    "iowait": ("iowait",),
    "irq": ("irq", "softirq"),
    "steal": ("steal",),
}
"""CPU modes, and the kernel's modes that each sums."""
BUSY = ("user", "system", "irq")
"""Modes in which this node's processors worked; in ``iowait`` they idled, in ``steal`` they belonged to others."""

_MOST_NAMES = 3
_NOT_OCCUPIED = ("free", "buffers", "cached")
_PER_S = {"context_switches_per_s": "context_switches_total", "interrupts_per_s": "interrupts_total"}
_NETWORK = {
    "network_received_bytes_per_s": "network_received_bytes_total",
    "network_transmitted_bytes_per_s": "network_transmitted_bytes_total",
}
_DISK = {
    "disk_read_bytes_per_s": "disk_read_bytes_total",
    "disk_written_bytes_per_s": "disk_written_bytes_total",
}
INNER = re.compile(r"lo$|veth|docker|br-|bridge|cni|flannel|vxlan|cali|cilium|kube|nomad|virbr|tap|tun|dummy|ifb|vnet")
"""Interfaces whose traffic never leaves the node, or passes a real interface as well and would count twice."""
_PARTS = re.compile(r"((sd|vd|xvd|hd)[a-z]+|(nvme\d+n|mmcblk)\d+p)\d+$|loop|ram|zram|dm-|md\d|sr\d")
"""Parts and layers of disks: what they do is done by a disk as well."""


def nodes(observed: Observed, measured: WindowValues) -> list[NodeUse]:
    """One row a node. Where several share a kernel, one row for the machine, and one for each that has its own CPUs."""
    rows: list[NodeUse] = []
    for name, node in observed.nodes.items():
        if not node.recorded or name not in measured.subjects_by_node:
            continue
        shared = list(node.shared_by)
        rows.append(_machine(observed, measured, name, shared))
        rows += [_part(observed, measured, name, label, cpus) for label, cpus in _apart(observed, shared)]
    return rows


def title(observed: Observed, name: str) -> str:
    """A recorded node as the tables name it; a machine that several nodes share by their names, if those are few."""
    shared = observed.nodes[name].shared_by or (name,)
    return " + ".join(shared) if len(shared) <= _MOST_NAMES else f"machine of {len(shared)} nodes"


def under_test(observed: Observed, name: str) -> bool:
    """Whether replicas ran on a recorded node, or on one that shares its machine."""
    here = {name, *observed.nodes[name].shared_by}
    return any(replica.node in here for replica in observed.replicas.values())


def _machine(observed: Observed, measured: WindowValues, name: str, shared: list[str]) -> NodeUse:
    cpus = {subject for subject in measured.subjects_by_node[name] if _is_cpu(subject)}
    moved = {}
    for kind, columns, left_out in (("interface:", _NETWORK, INNER), ("disk:", _DISK, _PARTS)):
        for column, metric in columns.items():
            changes = [value.change for on, value in measured.subjects(name, kind, metric) if not left_out.match(on)]
            change = total(changes)
            moved[column] = None if change is None else change / measured.seconds
    clock = measured.get(name, "node", "clock_offset_seconds").mean
    frequency = mean_of_all(value.mean for _, value in measured.subjects(name, "cpu:", "frequency_hertz"))
    readings, skipped = measured.readings.get(name, (0, 0))
    return NodeUse(
        node=title(observed, name),
        shared_by=tuple(shared) or None,
        replicas=under_test(observed, name),
        cpus=len(cpus) or None,
        **_cpu(measured, name, ["node"]),
        memory_used_bytes=_without(measured, name, "available"),
        memory_user_bytes=measured.get(name, "node", "memory_user_bytes").mean,
        memory_programs_bytes=_without(measured, name, *_NOT_OCCUPIED, "slab", "page_tables", "swap_cached"),
        memory_occupied_bytes=_without(measured, name, *_NOT_OCCUPIED),
        **{column: measured.rate(name, "node", metric) for column, metric in _PER_S.items()},
        **moved,
        clock_offset_ms=None if clock is None else 1000 * clock,
        frequency_ghz=None if frequency is None else frequency / 1e9,
        reference_ms=_reference_ms(measured, name),
        readings=readings,
        skipped=skipped,
    )


def _without(measured: WindowValues, name: str, *parts: str) -> float | None:
    """Total memory less these parts of it; None where the kernel does not report them all."""
    whole, *less = (measured.get(name, "node", f"memory_{part}_bytes").mean for part in ("total", *parts))
    taken = total(less)
    return whole - taken if whole is not None and taken is not None else None


def _reference_ms(measured: WindowValues, name: str) -> float | None:
    """The mean processor time of the reference loop."""
    seconds, loops = (measured.get(name, "node", f"reference_{what}_total").change for what in ("seconds", "loops"))
    return 1000 * seconds / loops if seconds and loops else None


def _is_cpu(subject: str) -> bool:
    kind, _, number = subject.partition(":")
    return kind == "cpu" and number.isdecimal()


def _apart(observed: Observed, shared: list[str]) -> Iterator[tuple[str, list[int]]]:
    """The nodes of a machine with the CPUs that are theirs alone; none where any CPU is of two nodes."""
    cpus = {name: list(observed.nodes[name].cpus) for name in shared if name in observed.nodes}
    every = list(chain.from_iterable(cpus.values()))
    if len(every) == len(set(every)):
        yield from ((name, own) for name, own in cpus.items() if own)


def _part(observed: Observed, measured: WindowValues, machine: str, name: str, cpus: list[int]) -> NodeUse:
    replicas = any(replica.node == name for replica in observed.replicas.values())
    used = _cpu(measured, machine, [f"cpu:{cpu}" for cpu in cpus])
    return NodeUse(node=name, shared_by=None, replicas=replicas, cpus=len(cpus), **used)


def _cpu(measured: WindowValues, name: str, subjects: list[str]) -> dict[str, Any]:
    """Cores by mode: processor time over the window's length, summed over the subjects."""
    cores: dict[str, float | None] = {}
    for mode, counters in MODES.items():
        rates = (measured.rate(name, s, f"cpu_{c}_seconds_total") for s in subjects for c in counters)
        cores[f"cpu_{mode}_cores"] = total(rates)
    return cores | {"cpu_cores": total(cores[f"cpu_{mode}_cores"] for mode in BUSY)}
