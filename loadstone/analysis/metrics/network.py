"""Bytes that nodes sent and received, and those that went between workers.

Nodes of their own count at their interfaces. Emulated hosts are counted at the switch that joins them, which also
knows what left for the client and for managers; what is left of all that workers sent went between workers.
"""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import total
from loadstone.analysis.metrics.nodes import INNER, MetricRow
from loadstone.analysis.metrics.windows import WindowValues
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import HOST, Observed

_SWITCH = "network:switch/"
_UPLINK = "uplink"
"""The switch's interface that leads to this machine, where the load comes from."""
_METRICS = ("network_received_bytes_total", "network_transmitted_bytes_total")


class NetworkUse(TableRow):
    """What a node received and sent."""

    node: str
    role: str
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


class NetworkRow(NetworkUse, MetricRow, name="metrics_network"):
    """What a node received and sent in one trial."""


class BetweenUse(TableRow):
    """What workers sent to each other, and per completed request, in all directions together."""

    between_bytes_per_s: float
    between_bytes_per_request: float | None


class BetweenRow(BetweenUse, MetricRow, name="metrics_between"):
    """What workers sent to each other in one trial."""


def network(observed: Observed, measured: WindowValues) -> list[NetworkUse]:
    """One row a node: bytes that it received and sent a second; none for nodes that share an interface."""
    return [*_emulated(observed, measured), *_real(observed, measured)]


def between(rows: Iterable[NetworkUse], throughput: float | None, observed: Observed) -> BetweenUse | None:
    """What went between workers; None where the traffic of any of them, of client or managers is not known.

    Client and managers speak to each other little while a trial is measured; that little is taken for traffic of
    workers that left them, so this is a lower bound.
    """
    by_role = grouped(rows, lambda row: row.role)
    workers, others = by_role.pop("worker", []), [row for some in by_role.values() for row in some]
    sent = total(row.sent_bytes_per_s for row in workers)
    counted = {row.node for some in (workers, others) for row in some}
    wanted = {name for name, node in observed.nodes.items() if node.role in ("worker", "manager") and name != HOST}
    if sent is None or len(workers) < 2 or "client" not in by_role or not wanted <= counted:
        return None
    elsewhere = total(row.received_bytes_per_s for row in others)
    if elsewhere is None:
        return None
    rate = max(0.0, sent - elsewhere)
    return BetweenUse(between_bytes_per_s=rate, between_bytes_per_request=rate / throughput if throughput else None)


def _emulated(observed: Observed, measured: WindowValues) -> Iterable[NetworkUse]:
    """What the switch received at a host's port is what that host sent."""
    ports = {subject.removeprefix(_SWITCH): node for node, subject, _ in measured.values if subject.startswith(_SWITCH)}
    for port, recorder in ports.items():
        name = "client" if port == _UPLINK else port
        if name == "client" or name in observed.nodes:
            sent, received = (measured.rate(recorder, f"{_SWITCH}{port}", metric) for metric in _METRICS)
            yield _row(observed, name, received, sent)


def _real(observed: Observed, measured: WindowValues) -> Iterable[NetworkUse]:
    """The host of virtual machines is no node of the cluster; its own traffic is in ``metrics_nodes``."""
    for name, node in observed.nodes.items():
        if node.recorded and not node.shared_by and name != HOST:
            received, sent = (_over_interfaces(measured, name, metric) for metric in _METRICS)
            if received is not None or sent is not None:
                yield _row(observed, name, received, sent)


def _over_interfaces(measured: WindowValues, name: str, metric: str) -> float | None:
    real = [value.change for on, value in measured.subjects(name, "interface:", metric) if not INNER.match(on)]
    moved = total(real)
    return None if moved is None else moved / measured.seconds


def _row(observed: Observed, name: str, received: float | None, sent: float | None) -> NetworkUse:
    known = observed.nodes.get(name)
    role = "client" if name == "client" else (known.role if known is not None else None) or "worker"
    return NetworkUse(node=name, role=role, received_bytes_per_s=received, sent_bytes_per_s=sent)
