"""What each replica and each service did: processor time, throttling, memory, threads, network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import mean_of_all, total
from loadstone.analysis.metrics.nodes import MetricRow
from loadstone.analysis.metrics.windows import WindowValues
from loadstone.analysis.schema import TableRow
from loadstone.model.records.observed import Observed, ObservedReplica
from loadstone.model.records.reading import Reading


class _Use(TableRow):
    cores: float | None
    throttled_share: float | None
    throttled_periods_share: float | None
    memory_bytes: float | None
    threads_before: float | None
    threads: float | None
    threads_after: float | None
    processes: float | None
    block_read_bytes_per_s: float | None
    block_written_bytes_per_s: float | None
    network_received_bytes_per_s: float | None
    network_transmitted_bytes_per_s: float | None


class _Replica(TableRow):
    replica: str
    service: str
    tier: str
    node: str


class _Service(TableRow):
    service: str
    tier: str
    replicas: int
    nodes: int


class ReplicaUse(_Use, _Replica):
    """One replica that was recorded."""


class ReplicaRow(ReplicaUse, MetricRow, name="metrics_replicas"):
    """A replica in one trial."""


class ServiceUse(_Use, _Service):
    """Replicas of a service together: sums; of throttled shares the mean. None where any of them has none."""


class ServiceRow(ServiceUse, MetricRow, name="metrics_services"):
    """A service in one trial."""


def replicas(observed: Observed, measured: WindowValues, readings: Iterable[Reading] = ()) -> list[ReplicaUse]:
    """One row for each replica that was recorded, in the deployment's order.

    Processor time and throttling are those of ``usage.json`` where its counters were read at the window's
    ends: what is read once a second can only be interpolated there.
    """
    exact = {reading.replica: reading for reading in readings if reading.from_ns is not None and reading.window_s}
    recorders = {key[1]: key[0] for key in measured.values if key[1].startswith("replica:")}
    rows = [
        _row(measured, recorders[f"replica:{name}"], name, replica)
        for name, replica in observed.replicas.items()
        if f"replica:{name}" in recorders
    ]
    return [_exactly(row, exact[row.replica]) if row.replica in exact else row for row in rows]


def _row(measured: WindowValues, recorder: str, name: str, replica: ObservedReplica) -> ReplicaUse:
    """``recorder`` is the node under whose name its counters stand; it may be another's that shares the kernel."""
    subject = f"replica:{name}"

    def rate(metric: str) -> float | None:
        return measured.rate(recorder, subject, f"container_{metric}_total")

    throttled, periods = rate("throttled_periods"), rate("periods")
    threads = measured.get(recorder, subject, "container_threads")
    return ReplicaUse(
        replica=name,
        service=replica.service,
        tier=replica.tier,
        node=replica.node,
        cores=rate("cpu_seconds"),
        throttled_share=rate("throttled_seconds"),
        throttled_periods_share=throttled / periods if throttled is not None and periods else None,
        memory_bytes=measured.get(recorder, subject, "container_memory_bytes").mean,
        threads_before=threads.before,
        threads=threads.mean,
        threads_after=threads.after,
        processes=measured.get(recorder, subject, "container_processes").after,
        block_read_bytes_per_s=rate("block_read_bytes"),
        block_written_bytes_per_s=rate("block_written_bytes"),
        network_received_bytes_per_s=rate("network_received_bytes"),
        network_transmitted_bytes_per_s=rate("network_transmitted_bytes"),
    )


def _exactly(row: ReplicaUse, reading: Reading) -> ReplicaUse:
    throttled, periods, stopped = reading.throttled_s, reading.periods, reading.throttled_periods
    return replace(
        row,
        cores=reading.cpu_s / reading.window_s,
        throttled_share=None if throttled is None else throttled / reading.window_s,
        throttled_periods_share=stopped / periods if stopped is not None and periods else None,
    )


def services(rows: Iterable[ReplicaUse], observed: Observed) -> list[ServiceUse]:
    """By service what all its replicas did together, those that were not recorded included."""
    by_service = grouped(rows, lambda row: row.service)
    every = grouped(observed.replicas.values(), lambda replica: replica.service)
    return [_service(mine, every.get(service, [])) for service, mine in by_service.items()]


def _service(mine: list[ReplicaUse], every: list[ObservedReplica]) -> ServiceUse:
    if len(mine) < len(every):
        nothing: dict[str, Any] = {field.name: None for field in fields(_Use)}
        place = {"replicas": len(every), "nodes": len({replica.node for replica in every})}
        return ServiceUse(service=mine[0].service, tier=mine[0].tier, **place, **nothing)
    return ServiceUse(
        service=mine[0].service,
        tier=mine[0].tier,
        replicas=len(mine),
        nodes=len({row.node for row in mine}),
        cores=total(row.cores for row in mine),
        throttled_share=mean_of_all(row.throttled_share for row in mine),
        throttled_periods_share=mean_of_all(row.throttled_periods_share for row in mine),
        memory_bytes=total(row.memory_bytes for row in mine),
        threads_before=total(row.threads_before for row in mine),
        threads=total(row.threads for row in mine),
        threads_after=total(row.threads_after for row in mine),
        processes=total(row.processes for row in mine),
        block_read_bytes_per_s=total(row.block_read_bytes_per_s for row in mine),
        block_written_bytes_per_s=total(row.block_written_bytes_per_s for row in mine),
        network_received_bytes_per_s=total(row.network_received_bytes_per_s for row in mine),
        network_transmitted_bytes_per_s=total(row.network_transmitted_bytes_per_s for row in mine),
    )
