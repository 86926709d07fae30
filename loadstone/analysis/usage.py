"""Where the CPU time goes: by service, from what each replica's cgroup counted in the measured window.

What a request costs is cores over throughput: both are of the requests that were completed within the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyarrow as pa

from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row, TreatmentSummary, load_of
from loadstone.model.records import Reading


def highest_held(treatment: TreatmentSummary) -> Row | None:
    """The trial of the highest load that held (or had no SLO), of full duration where there is one; else None."""
    good = [*treatment.rows("held"), *treatment.rows("measured")]
    return max(good, key=lambda row: (row["phase"] != "bracket", load_of(row)), default=None)


def cpu_by_service(run: RunFolder, treatment: TreatmentSummary) -> pa.Table:
    """One row per service, busiest first, at the highest held load.

    ``cores`` is CPU time over the window, summed over replicas; ``limit_cores`` is null where a replica has no limit;
    ``throttled_share`` is the share of the window in which its replicas wanted to run and were not let, on average.
    """
    trial = highest_held(treatment)
    if trial is None:
        return pa.Table.from_pylist([], schema=SCHEMA)
    return pa.Table.from_pylist(by_service(trial, run.readings(trial["trial_id"])), schema=SCHEMA)


def by_service(trial: Row, readings: Iterable[Reading] | None) -> list[Row]:
    """The rows of one trial's services, busiest first, from its readings; none of one that was stopped early."""
    if readings is None or trial["aborted_at_s"] is not None:
        return []
    found: dict[str, list[Reading]] = {}
    for reading in readings:
        found.setdefault(reading.service, []).append(reading)
    rows = [_row(trial, service, mine) for service, mine in found.items()]
    return sorted(rows, key=lambda row: -row["cpu_s"])


LEAST_USED = 0.02
"""Below this share of its CPU, a service's use is mostly not due to requests."""


def cpu_capacity(readings: Iterable[Reading], throughput: float | None) -> float | None:
    """The load in requests/s at which the busiest service would use all of its CPU limit, as a trial's cost it.

    It is a hint, and no more: what a service uses at rest counts as the requests',
    and a system can break on something else. None where no service has a limit, or none used enough of it.
    """
    used: dict[str, float] = {}
    limits: dict[str, float] = {}
    for reading in readings:
        if reading.cpu is not None and reading.cpu_limit:
            used[reading.service] = used.get(reading.service, 0.0) + reading.cpu
            limits[reading.service] = limits.get(reading.service, 0.0) + reading.cpu_limit
    busiest = max((used[service] / limits[service] for service in used), default=0.0)
    return throughput / busiest if throughput and busiest >= LEAST_USED else None


def _row(trial: Row, service: str, replicas: list[Reading]) -> Row:
    cpu = sum(replica.cpu_s for replica in replicas)
    window = replicas[0].window_s or math.nan
    throttled = _sum(replica.throttled_s for replica in replicas)
    return {
        **{name: trial[name] for name in ("trial_id", "treatment", "rate", "clients")},
        "service": service,
        "tier": replicas[0].tier,
        "replicas": len(replicas),
        "cpu_s": cpu,
        "cores": cpu / window,
        "limit_cores": _sum(replica.cpu_limit for replica in replicas),
        "throttled_share": None if throttled is None else throttled / len(replicas) / window,
        "cpu_ms_per_request": 1000 * cpu / window / trial["throughput"] if trial["throughput"] else None,
        "memory_peak_bytes": _sum(replica.memory_peak for replica in replicas),
        "memory_limit_bytes": _sum(replica.memory_limit for replica in replicas),
    }


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where any is missing: a sum over the rest would pass for all."""
    some = list(values)
    return None if None in some else sum(value for value in some if value is not None)


SCHEMA = pa.schema(
    [
        ("trial_id", pa.string()),
        ("treatment", pa.string()),
        ("rate", pa.float64()),
        ("clients", pa.int64()),
        ("service", pa.string()),
        ("tier", pa.string()),
        ("replicas", pa.int64()),
        *((name, pa.float64()) for name in ("cpu_s", "cores", "limit_cores", "throttled_share", "cpu_ms_per_request")),
        ("memory_peak_bytes", pa.int64()),
        ("memory_limit_bytes", pa.int64()),
    ]
)
