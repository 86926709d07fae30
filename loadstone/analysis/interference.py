"""What neighbours cost: latency and throughput of each treatment, and what its neighbours used meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import OfTrial, TableRow
from loadstone.analysis.statistics import mean
from loadstone.model.records import NeighbourReading, TrialRow

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


class LevelRow(TableRow, name="interference"):
    """A treatment at one load, with geometric means over its ``runs`` and their 95 % intervals.

    Of a search ``rate`` and ``clients`` are null, as are latency and throughput, which are of many loads then. What
    neighbours used is the mean over runs of their sum over nodes.
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


def levels(run: RunFolder, used: Iterable[NeighbourRow]) -> list[LevelRow]:
    """One row per treatment and fixed load, in the order in which they first ran; of valid trials that ran to their
    end. ``used``: as ``neighbours``."""
    by_trial: dict[str, list[NeighbourRow]] = {}
    for row in used:
        by_trial.setdefault(row.trial_id, []).append(row)
    groups: dict[tuple[str, float | None, int | None], list[TrialRow]] = {}
    for trial in run.trials:
        if trial.valid and not trial.stopped:
            load = (trial.rate, trial.clients) if trial.repeatable else (None, None)
            groups.setdefault((trial.treatment, *load), []).append(trial)
    return [
        _level(key, trials, [by_trial.get(trial.trial_id, []) for trial in trials]) for key, trials in groups.items()
    ]


def _level(
    key: tuple[str, float | None, int | None],
    trials: Sequence[TrialRow],
    used: Sequence[Sequence[NeighbourRow]],
) -> LevelRow:
    treatment, rate, clients = key
    measured = trials if rate is not None else ()
    disturbed = [rows for rows in used if rows]
    return LevelRow(
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
    )


def _around(column: str, values: Iterable[float | None]) -> dict[str, float | None]:
    """A column with the ends of its interval, which a single run does not have."""
    known = [value for value in values if value]
    found = mean(known) if known else None
    several = found if len(known) > 1 else None
    return {
        column: found.value if found else None,
        f"{column}_low": several.low if several else None,
        f"{column}_high": several.high if several else None,
    }


def _used(trials: Sequence[Sequence[NeighbourRow]], of: Callable[[NeighbourRow], float | None]) -> float | None:
    """The mean of the sums over nodes; None where it was not counted on every node of every trial."""
    counted = [[of(row) for row in rows] for rows in trials]
    if not counted or any(None in values for values in counted):
        return None
    return fmean(sum(value for value in values if value is not None) for values in counted)
