"""What neighbours cost: latency and throughput of each treatment, and what its neighbours used meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from loadstone.analysis.grouping import grouped
from loadstone.analysis.known import all_known, mean_of_all, total
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import OfTrial, TableRow
from loadstone.analysis.statistics import mean
from loadstone.model.records.interference import NeighbourLoad, NeighbourReading
from loadstone.model.records.trial_row import TrialRow

UNDISTURBED = "none"


class NeighbourRow(OfTrial, name="neighbours"):
    """What the neighbour on one node used in the measured window of one trial; null is what was not counted.

    ``operations_per_s`` is of its whole life.
    """

    verdict: str
    level: str
    node: str
    cpu_cores: float | None
    memory_bytes: int | None
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    operations_per_s: float | None


class NeighbourLoadRow(OfTrial, name="neighbour_requests"):
    """The requests of another application that were due in the measured window of one trial, at ``offered_rate`` per
    second; ``lost`` are those that did not complete in time. Latencies are null where nothing was answered well."""

    verdict: str
    level: str
    application: str
    workload: str
    offered_rate: float
    window_s: float
    offered: int
    completed: int
    lost: int
    throughput: float
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


class InterferenceRow(TableRow, name="interference"):
    """A treatment at one load, with geometric means over its ``runs`` and their 95 % intervals.

    Of a search ``rate`` and ``clients`` are null, as are latency and throughput, which are of many loads then. What
    neighbours used is the mean over runs of their sum over nodes. ``neighbour_...`` is of the requests of another
    application, null of stressors: geometric means over runs, and the share of all that did not complete in time.
    """

    treatment: str
    level: str
    rate: float | None
    clients: int | None
    runs: int
    p50_ms: float | None
    p50_ms_low: float | None
    p50_ms_high: float | None
    p99_ms: float | None
    p99_ms_low: float | None
    p99_ms_high: float | None
    throughput: float | None
    throughput_low: float | None
    throughput_high: float | None
    cpu_cores: float | None
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    operations_per_s: float | None
    neighbour_throughput: float | None
    neighbour_throughput_low: float | None
    neighbour_throughput_high: float | None
    neighbour_p50_ms: float | None
    neighbour_p50_ms_low: float | None
    neighbour_p50_ms_high: float | None
    neighbour_p99_ms: float | None
    neighbour_p99_ms_low: float | None
    neighbour_p99_ms_high: float | None
    neighbour_lost_share: float | None


def neighbours(run: RunFolder) -> list[NeighbourRow]:
    """One row per disturbed trial and node, in the order in which the trials ran."""
    return [
        _neighbour(trial, found.level, reading)
        for trial in run.trials
        if (found := run.disturbance(trial.trial_id)) is not None
        for reading in found.readings
    ]


def _neighbour(trial: TrialRow, level: str, reading: NeighbourReading) -> NeighbourRow:
    def per_s(value: float | None) -> float | None:
        return value / reading.window_s if value is not None and reading.window_s else None

    return NeighbourRow(
        **NeighbourRow.columns_of(trial),
        level=level,
        node=reading.node,
        cpu_cores=per_s(reading.cpu_s),
        memory_bytes=reading.memory,
        read_bytes_per_s=per_s(reading.read),
        written_bytes_per_s=per_s(reading.written),
        operations_per_s=reading.operations_per_s,
    )


def neighbour_loads(run: RunFolder) -> list[NeighbourLoadRow]:
    """One row per trial that another application disturbed, in the order in which they ran."""
    found = ((trial, run.disturbance(trial.trial_id)) for trial in run.trials)
    return [
        _neighbour_load(trial, disturbance.level, disturbance.load)
        for trial, disturbance in found
        if disturbance is not None and disturbance.load is not None
    ]


def _neighbour_load(trial: TrialRow, level: str, load: NeighbourLoad) -> NeighbourLoadRow:
    same = ("application", "workload", "window_s", "offered", "completed", "p50_ms", "p90_ms", "p99_ms")
    return NeighbourLoadRow(
        **NeighbourLoadRow.columns_of(trial),
        level=level,
        offered_rate=load.rate,
        lost=load.offered - load.completed,
        throughput=load.completed / load.window_s if load.window_s else 0.0,
        **{name: getattr(load, name) for name in same},
    )


def levels(run: RunFolder, used: Iterable[NeighbourRow], loads: Iterable[NeighbourLoadRow]) -> list[InterferenceRow]:
    """One row per treatment and fixed load, in the order in which they first ran; of valid trials that ran to their
    end. ``used``: as ``neighbours``; ``loads``: as ``neighbour_loads``."""
    load_of = {row.trial_id: row for row in loads}
    by_trial = grouped(used, lambda row: row.trial_id)
    groups: dict[tuple[str, float | None, int | None], list[TrialRow]] = {}
    for trial in run.trials:
        if trial.valid and not trial.stopped:
            load = (trial.rate, trial.clients) if trial.repeatable else (None, None)
            groups.setdefault((trial.treatment, *load), []).append(trial)
    return [
        _level(
            key,
            trials,
            [by_trial.get(trial.trial_id, []) for trial in trials],
            [load_of[trial.trial_id] for trial in trials if trial.trial_id in load_of],
        )
        for key, trials in groups.items()
    ]


def _level(
    key: tuple[str, float | None, int | None],
    trials: Sequence[TrialRow],
    used: Sequence[Sequence[NeighbourRow]],
    loads: Sequence[NeighbourLoadRow],
) -> InterferenceRow:
    treatment, rate, clients = key
    measured = trials if rate is not None else ()
    disturbed = [rows for rows in used if rows]
    return InterferenceRow(
        treatment=treatment,
        level=disturbed[0][0].level if disturbed else UNDISTURBED,
        rate=rate,
        clients=clients,
        runs=len(trials),
        **_around("p50_ms", [trial.p50_ms for trial in measured]),
        **_around("p99_ms", [trial.p99_ms for trial in measured]),
        **_around("throughput", [trial.throughput for trial in measured]),
        cpu_cores=_used(disturbed, lambda row: row.cpu_cores),
        read_bytes_per_s=_used(disturbed, lambda row: row.read_bytes_per_s),
        written_bytes_per_s=_used(disturbed, lambda row: row.written_bytes_per_s),
        operations_per_s=_used(disturbed, lambda row: row.operations_per_s),
        **_around("neighbour_throughput", [load.throughput for load in loads]),
        **_around("neighbour_p50_ms", [load.p50_ms for load in loads]),
        **_around("neighbour_p99_ms", [load.p99_ms for load in loads]),
        neighbour_lost_share=_lost_share(loads),
    )


def _lost_share(loads: Sequence[NeighbourLoadRow]) -> float | None:
    offered = sum(load.offered for load in loads)
    return sum(load.lost for load in loads) / offered if offered else None


def _around(column: str, values: Iterable[float | None]) -> dict[str, float | None]:
    """A column with the ends of its interval, which neither a single run has nor a mean of 0.

    Nothing where any run has no value, of which only a lower bound may be known.
    """
    known = all_known(values)
    value, low, high = 0.0 if known else None, None, None
    if known and all(known):
        found = mean(known)
        value, (low, high) = found.value, found.ends
    return {column: value, f"{column}_low": low, f"{column}_high": high}


def _used(trials: Sequence[Sequence[NeighbourRow]], of: Callable[[NeighbourRow], float | None]) -> float | None:
    """The mean of the sums over nodes; None where it was not counted on every node of every trial."""
    return mean_of_all(total(of(row) for row in rows) for rows in trials)
