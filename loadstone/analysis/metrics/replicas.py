"""What each replica and each service did: processor time, throttling, memory, threads, network."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from loadstone.analysis.metrics.windows import WindowValues, total
from loadstone.analysis.summary import Row
from loadstone.model.records import Observed, Reading

_SUMS = (
    "cores",
    "memory_bytes",
    "threads_before",
    "threads_after",
    "processes",
    "network_received_bytes_per_s",
    "network_transmitted_bytes_per_s",
)
_SHARES = ("throttled_share", "throttled_periods_share")


def replicas(observed: Observed, measured: WindowValues, readings: Iterable[Reading] = ()) -> list[Row]:
    """One row for each replica that was recorded, in the deployment's order.

    Processor time and throttling are those of ``usage.json`` where its counters were read at the window's
    ends: what is read once a second can only be interpolated there.
    """
    exact = {
        reading.replica: _used(reading) for reading in readings if reading.from_ns is not None and reading.window_s
    }
    found = {key[1]: key[0] for key in measured.values if key[1].startswith("replica:")}
    return [
        {
            "replica": name,
            **replica.model_dump(),
            **_row(measured, found[f"replica:{name}"], f"replica:{name}"),
            **exact.get(name, {}),
        }
        for name, replica in observed.replicas.items()
        if f"replica:{name}" in found
    ]


def _row(measured: WindowValues, recorder: str, subject: str) -> Row:
    """``recorder`` is the node under whose name its counters stand; it may be another's that shares the kernel."""

    def rate(metric: str) -> float | None:
        return measured.rate(recorder, subject, f"container_{metric}_total")

    throttled, periods = rate("throttled_periods"), rate("periods")
    threads = measured.get(recorder, subject, "container_threads")
    return {
        "cores": rate("cpu_seconds"),
        "throttled_share": rate("throttled_seconds"),
        "throttled_periods_share": throttled / periods if throttled is not None and periods else None,
        "memory_bytes": measured.get(recorder, subject, "container_memory_bytes").mean,
        "threads_before": threads.before,
        "threads_after": threads.after,
        "processes": measured.get(recorder, subject, "container_processes").after,
        "network_received_bytes_per_s": rate("network_received_bytes"),
        "network_transmitted_bytes_per_s": rate("network_transmitted_bytes"),
    }


def _used(reading: Reading) -> Row:
    throttled, periods, stopped = reading.throttled_s, reading.periods, reading.throttled_periods
    return {
        "cores": reading.cpu_s / reading.window_s,
        "throttled_share": None if throttled is None else throttled / reading.window_s,
        "throttled_periods_share": stopped / periods if stopped is not None and periods else None,
    }


def services(rows: Iterable[Row]) -> list[Row]:
    """Replicas of a service together: sums; of throttled shares the mean. Null where any of them has none."""
    by_service: dict[str, list[Row]] = {}
    for row in rows:
        by_service.setdefault(row["service"], []).append(row)
    return [
        {
            "service": service,
            "tier": mine[0]["tier"],
            "replicas": len(mine),
            "nodes": len({row["node"] for row in mine}),
            **{name: total(row[name] for row in mine) for name in _SUMS},
            **{name: _mean([row[name] for row in mine]) for name in _SHARES},
        }
        for service, mine in by_service.items()
    ]


def _mean(values: list[float | None]) -> float | None:
    added = total(values)
    return None if added is None else added / len(values)


_NUMBERS = [(name, pa.float64()) for name in ("cores", *_SHARES, *_SUMS[1:])]
COLUMNS: list[tuple[str, pa.DataType]] = [
    *((name, pa.string()) for name in ("replica", "service", "tier", "node")),
    *_NUMBERS,
]
OF_SERVICES: list[tuple[str, pa.DataType]] = [
    *((name, pa.string()) for name in ("service", "tier")),
    *((name, pa.int64()) for name in ("replicas", "nodes")),
    *_NUMBERS,
]
