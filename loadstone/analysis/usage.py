"""Where the CPU time goes: by service, from what each replica's cgroup counted in the measured window.

What a request costs is cores over throughput: both are of the requests that were completed within the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import total
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.records.reading import Reading
from loadstone.model.records.trial_row import TrialRow


class ServiceCpu(TableRow, name="cpu"):
    """What all replicas of a service used in one trial.

    ``cores`` is CPU time over the window; ``limit_cores`` is None where a replica has no limit; ``throttled_share`` is
    the share of the window in which its replicas wanted to run and were not let, on average.
    """

    trial_id: str
    treatment: str
    rate: float
    clients: int | None
    service: str
    tier: str
    replicas: int
    cpu_s: float
    cores: float
    limit_cores: float | None
    throttled_share: float | None
    cpu_ms_per_request: float | None
    memory_peak_bytes: int | None
    memory_limit_bytes: int | None


def highest_held(treatment: TreatmentSummary) -> TrialRow | None:
    """The trial of the highest load that held (or had no SLO), of full duration where there is one; else None."""
    good = [row for row in treatment.whole if row.verdict != "not held"]
    return max(good, key=lambda row: (row.phase != "bracket", row.load), default=None)


def cpu_by_service(run: RunFolder, treatment: TreatmentSummary) -> list[ServiceCpu]:
    """One row per service, busiest first, at the highest held load."""
    trial = highest_held(treatment)
    return by_service(trial, run.readings(trial.trial_id)) if trial is not None else []


def by_service(trial: TrialRow, readings: Iterable[Reading] | None) -> list[ServiceCpu]:
    """The rows of one trial's services, busiest first, from its readings; none of one that was stopped early."""
    if readings is None or trial.stopped:
        return []
    found = grouped(readings, lambda reading: reading.service)
    rows = [_row(trial, service, mine) for service, mine in found.items()]
    return sorted(rows, key=lambda row: -row.cpu_s)


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


def _row(trial: TrialRow, service: str, replicas: list[Reading]) -> ServiceCpu:
    cpu = sum(replica.cpu_s for replica in replicas)
    window = replicas[0].window_s or math.nan
    throttled = total(replica.throttled_s for replica in replicas)
    return ServiceCpu(
        **ServiceCpu.columns_of(trial),
        service=service,
        tier=replicas[0].tier,
        replicas=len(replicas),
        cpu_s=cpu,
        cores=cpu / window,
        limit_cores=total(replica.cpu_limit for replica in replicas),
        throttled_share=None if throttled is None else throttled / len(replicas) / window,
        cpu_ms_per_request=1000 * cpu / window / trial.throughput if trial.throughput else None,
        memory_peak_bytes=total(replica.memory_peak for replica in replicas),
        memory_limit_bytes=total(replica.memory_limit for replica in replicas),
    )
